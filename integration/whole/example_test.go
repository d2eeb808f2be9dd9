package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// This file contains the code of docs/aztables.md. Each block of the page is the body of a function here, or the part behind a
// comment "page:"; see TestAztablesPage. The functions come in pairs: sdkX uses aztables, kitX does the same with aztablekit.

// page:
type Employee struct {
	Department string // the PartitionKey
	ID         string // the RowKey
	Name       string
	Age        int32
	Salary     int64
	Hired      time.Time
}

var (
	department = keys.RawPartitionOf(func(e *Employee) *string { return &e.Department })
	id         = keys.RawRowOf(func(e *Employee) *string { return &e.ID })
	age        = table.FieldOf(func(e *Employee) *int32 { return &e.Age })
	salary     = table.FieldOf(func(e *Employee) *int64 { return &e.Salary })
)

// page:end

var hired = time.Date(2014, 7, 31, 9, 0, 0, 0, time.UTC)

func sdkConnect(connectionString string) (*aztables.Client, error) {
	service, err := aztables.NewServiceClientFromConnectionString(connectionString, nil)
	if err != nil {
		return nil, err
	}
	return service.NewClient("staff"), nil
}

func kitConnect(connectionString string) (company *aztablekit.Store, staff *table.Table[Employee], err error) {
	acc, err := account.FromConnectionString(connectionString, nil)
	if err != nil {
		return nil, nil, err
	}
	company = aztablekit.Open(acc, "company", nil)
	staff = aztablekit.Table(company, "staff", department, id)
	return company, staff, nil
}

// page:
// clients are an account for aztablekit.Open: clients that the program has.
type clients struct {
	tables *aztables.ServiceClient
	queues *azqueue.ServiceClient
}

func (c clients) Tables() *aztables.ServiceClient { return c.tables }
func (c clients) Queues() *azqueue.ServiceClient  { return c.queues }

// page:end

func sdkCreate(ctx context.Context, client *aztables.Client) error {
	_, err := client.CreateTable(ctx, nil)
	var refused *azcore.ResponseError
	if errors.As(err, &refused) && refused.ErrorCode == string(aztables.TableAlreadyExists) {
		return nil
	}
	return err
}

func kitCreate(ctx context.Context, company *aztablekit.Store) error {
	return company.Ensure(ctx)
}

func sdkInsert(ctx context.Context, client *aztables.Client) error {
	body, err := json.Marshal(aztables.EDMEntity{
		Entity: aztables.Entity{PartitionKey: "Sales", RowKey: "000223"},
		Properties: map[string]any{
			"Name":   "Jones",
			"Age":    44,
			"Salary": aztables.EDMInt64(52000),
			"Hired":  aztables.EDMDateTime(hired),
		},
	})
	if err != nil {
		return err
	}
	_, err = client.AddEntity(ctx, body, nil)
	return err
}

func kitInsert(ctx context.Context, staff *table.Table[Employee]) error {
	jones := Employee{Department: "Sales", ID: "000223", Name: "Jones", Age: 44, Salary: 52000, Hired: hired}
	_, err := staff.Insert(ctx, &jones)
	return err
}

func sdkGet(ctx context.Context, client *aztables.Client) (name string, salary int64, err error) {
	response, err := client.GetEntity(ctx, "Sales", "000223", nil)
	if err != nil {
		return "", 0, err
	}
	var e aztables.EDMEntity
	if err := json.Unmarshal(response.Value, &e); err != nil {
		return "", 0, err
	}
	name, _ = e.Properties["Name"].(string)
	n, _ := e.Properties["Salary"].(aztables.EDMInt64)
	return name, int64(n), nil
}

func kitGet(ctx context.Context, staff *table.Table[Employee]) (name string, salary int64, err error) {
	e, err := staff.Get(ctx, staff.Key(Employee{Department: "Sales", ID: "000223"}))
	if err != nil {
		return "", 0, err
	}
	return e.Value.Name, e.Value.Salary, nil
}

func sdkUpdate(ctx context.Context, client *aztables.Client) error {
	for {
		response, err := client.GetEntity(ctx, "Sales", "000223", nil)
		if err != nil {
			return err
		}
		var e aztables.EDMEntity
		if err := json.Unmarshal(response.Value, &e); err != nil {
			return err
		}
		age, _ := e.Properties["Age"].(int32)
		e.Properties["Age"] = age + 1
		body, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = client.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{IfMatch: &response.ETag, UpdateMode: aztables.UpdateModeReplace})
		var refused *azcore.ResponseError
		if errors.As(err, &refused) && refused.StatusCode == http.StatusPreconditionFailed {
			continue // the row has changed since it was read
		}
		return err
	}
}

func kitUpdate(ctx context.Context, staff *table.Table[Employee]) error {
	_, err := staff.Update(ctx, keys.Raw("Sales", "000223"), func(e *Employee) error {
		e.Age++
		return nil
	})
	return err
}

func kitReplace(ctx context.Context, staff *table.Table[Employee]) error {
	e, err := staff.Get(ctx, keys.Raw("Sales", "000223"))
	if err != nil {
		return err
	}
	e.Value.Age++
	err = staff.Replace(ctx, e) // sends the ETag of e
	if errors.Is(err, table.ErrChanged) {
		return fmt.Errorf("another user has changed %v", e.Key)
	}
	return err
}

func sdkMerge(ctx context.Context, client *aztables.Client) error {
	body, err := json.Marshal(aztables.EDMEntity{
		Entity:     aztables.Entity{PartitionKey: "Sales", RowKey: "000223"},
		Properties: map[string]any{"Salary": aztables.EDMInt64(56000)},
	})
	if err != nil {
		return err
	}
	_, err = client.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge})
	return err
}

func kitMerge(ctx context.Context, staff *table.Table[Employee]) error {
	return staff.MergeAny(ctx, keys.Raw("Sales", "000223"), salary.Set(56000))
}

func sdkUpsert(ctx context.Context, client *aztables.Client) error {
	body, err := json.Marshal(aztables.EDMEntity{
		Entity:     aztables.Entity{PartitionKey: "Sales", RowKey: "000224"},
		Properties: map[string]any{"Name": "Li", "Age": 38, "Salary": aztables.EDMInt64(48000), "Hired": aztables.EDMDateTime(hired)},
	})
	if err != nil {
		return err
	}
	_, err = client.UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	return err
}

func kitUpsert(ctx context.Context, staff *table.Table[Employee]) error {
	li := Employee{Department: "Sales", ID: "000224", Name: "Li", Age: 38, Salary: 48000, Hired: hired}
	_, err := staff.Upsert(ctx, &li, table.ReplaceExisting)
	return err
}

func sdkQuery(ctx context.Context, client *aztables.Client) (names []string, err error) {
	filter, columns := "PartitionKey eq 'Sales' and Age ge 40", "Name"
	pager := client.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter, Select: &columns})
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, body := range page.Entities {
			var e struct{ Name string }
			if err := json.Unmarshal(body, &e); err != nil {
				return nil, err
			}
			names = append(names, e.Name)
		}
	}
	return names, nil
}

func kitQuery(ctx context.Context, staff *table.Table[Employee]) (names []string, err error) {
	named, err := table.ViewOf[struct{ Name string }](staff) // reads one property; staff.List reads whole entities
	if err != nil {
		return nil, err
	}
	for e, err := range named.List(ctx, table.Query[Employee]{Partition: keys.RawPartition("Sales"), Where: age.Ge(40)}) {
		if err != nil {
			return nil, err
		}
		names = append(names, e.Value.Name)
	}
	return names, nil
}

// page:
// position is where a page begins: the program stores it.
type position struct{ NextPartitionKey, NextRowKey *string }

// page:end

func sdkPage(ctx context.Context, client *aztables.Client, from position) (names []string, next position, err error) {
	filter, top := "PartitionKey eq 'Sales'", int32(2)
	pager := client.NewListEntitiesPager(&aztables.ListEntitiesOptions{
		Filter: &filter, Top: &top,
		NextPartitionKey: from.NextPartitionKey, NextRowKey: from.NextRowKey,
	})
	page, err := pager.NextPage(ctx) // may be short, or empty, although more follows
	if err != nil {
		return nil, position{}, err
	}
	for _, body := range page.Entities {
		var e struct{ Name string }
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, position{}, err
		}
		names = append(names, e.Name)
	}
	return names, position{page.NextPartitionKey, page.NextRowKey}, nil
}

func kitPage(ctx context.Context, staff *table.Table[Employee], token string) (names []string, next string, err error) {
	page, err := staff.Page(ctx, table.Query[Employee]{Partition: keys.RawPartition("Sales"), Limit: 2}, token)
	if err != nil {
		return nil, "", err
	}
	for _, e := range page.Entities {
		names = append(names, e.Value.Name)
	}
	return names, page.Token, nil // "" after the last page
}

// page:
// messageIndex finds the index of the failed operation in the response to a transaction.
var messageIndex = regexp.MustCompile(`"value":\s*"(\d+):`)

// page:end

func sdkTransaction(ctx context.Context, client *aztables.Client) (failed int, err error) {
	smith, err := json.Marshal(aztables.EDMEntity{
		Entity:     aztables.Entity{PartitionKey: "Sales", RowKey: "000225"},
		Properties: map[string]any{"Name": "Smith", "Age": 51, "Salary": aztables.EDMInt64(60000), "Hired": aztables.EDMDateTime(hired)},
	})
	if err != nil {
		return 0, err
	}
	li, err := json.Marshal(aztables.EDMEntity{
		Entity:     aztables.Entity{PartitionKey: "Sales", RowKey: "000224"},
		Properties: map[string]any{"Name": "Li", "Age": 39, "Salary": aztables.EDMInt64(58000), "Hired": aztables.EDMDateTime(hired)},
	})
	if err != nil {
		return 0, err
	}
	_, err = client.SubmitTransaction(ctx, []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeInsertReplace, Entity: li},
		{ActionType: aztables.TransactionTypeAdd, Entity: smith},
	}, nil)
	var refused *azcore.ResponseError
	if errors.As(err, &refused) {
		// The status is 202 and the code is empty. The text of the response names the operation.
		if m := messageIndex.FindStringSubmatch(refused.Error()); m != nil {
			failed, _ = strconv.Atoi(m[1])
		}
	}
	return failed, err
}

func kitTransaction(ctx context.Context, staff *table.Table[Employee]) (failed int, err error) {
	li := Employee{Department: "Sales", ID: "000224", Name: "Li", Age: 39, Salary: 58000, Hired: hired}
	smith := Employee{Department: "Sales", ID: "000225", Name: "Smith", Age: 51, Salary: 60000, Hired: hired}
	_, err = table.Transact(ctx,
		staff.UpsertOp(&li, table.ReplaceExisting),
		staff.InsertOp(&smith))
	var refused *table.BatchError
	if errors.As(err, &refused) {
		failed = refused.Index // also refused.Key and refused.Code; errors.Is(err, table.ErrExists) tells why
	}
	return failed, err
}

func sdkDelete(ctx context.Context, client *aztables.Client) error {
	_, err := client.DeleteEntity(ctx, "Sales", "000224", nil)
	return err
}

func kitDelete(ctx context.Context, staff *table.Table[Employee]) error {
	return staff.DeleteAny(ctx, keys.Raw("Sales", "000224"))
}

// openTyped opens the table with keys that have types.
func openTyped(company *aztablekit.Store) error {
	// page:
	type Typed struct {
		Department string
		ID         int // 223 is the RowKey 000223
		Name       string
	}
	typed := aztablekit.Table(company, "staff",
		keys.Partition(keys.Text(), func(e *Typed) *string { return &e.Department }),
		keys.Row(keys.Digits[int](6), func(e *Typed) *int { return &e.ID }))
	// page:end
	e, err := typed.Get(context.Background(), typed.Key(Typed{Department: "Sales", ID: 223}))
	if err == nil && e.Value.Name != "Jones" {
		err = fmt.Errorf("got name %q, want Jones", e.Value.Name)
	}
	return err
}

// page:
var byName = index.New("name", keys.Ordered(), func(e *Employee) (string, bool) { return e.Name, e.Name != "" },
	&index.Options{Reserved: true}).Only()

// page:end

func addIndex(ctx context.Context, company *aztablekit.Store) ([]*table.Entity[Employee], error) {
	staff := aztablekit.Table(company, "staff", department, id, byName)
	if err := company.Ensure(ctx); err != nil {
		return nil, err
	}
	if _, err := company.Fill(ctx, nil); err != nil { // when all programs have the release, once
		return nil, err
	}
	return table.Collect(byName.List(ctx, staff, keys.RawPartition("Sales"), "Jones"))
}

// page:
type Product struct {
	aztables.Entity                   // PartitionKey, RowKey and Timestamp
	Name            string            `json:"name"`
	Price           float64           `json:"price"`
	Stock           aztables.EDMInt64 `json:"stock" table:",text"`
	Added           time.Time         `json:"added" table:",text"`
	Maker           *string           `json:"maker"`
	Note            string            `json:"note,omitempty" table:",omitempty"`
	Cache           []byte            `json:"-" table:"-"`
}

var (
	category = keys.RawPartitionOf(func(p *Product) *string { return &p.PartitionKey })
	article  = keys.RawRowOf(func(p *Product) *string { return &p.RowKey })
	stock    = table.FieldOf(func(p *Product) *aztables.EDMInt64 { return &p.Stock })
)

// page:end

func sdkProduct(ctx context.Context, client *aztables.Client) error {
	body, err := json.Marshal(Product{
		Entity: aztables.Entity{PartitionKey: "Tools", RowKey: "000001"},
		Name:   "Hammer", Price: 9.5, Stock: 12, Added: hired,
	})
	if err != nil {
		return err
	}
	_, err = client.AddEntity(ctx, body, nil)
	return err
}

func kitProduct(ctx context.Context, products *table.Table[Product]) error {
	_, err := products.Insert(ctx, &Product{
		Entity: aztables.Entity{PartitionKey: "Tools", RowKey: "000001"},
		Name:   "Hammer", Price: 9.5, Stock: 12, Added: hired,
	})
	return err
}
