package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// storedRow is a row of a table without its ETag, times and operation ID.
type storedRow struct {
	Key        string
	Properties []storagetest.Property
}

// stored returns the rows of the table staff; see storedIn.
func stored(s *storagetest.Service) []storedRow { return storedIn(s, "staff") }

// storedIn returns the rows of a table as other programs read them, without operation IDs and
// without the catalogue.
func storedIn(s *storagetest.Service, name string) (rows []storedRow) {
	for _, row := range s.Rows(name) {
		r := storedRow{Key: row.PartitionKey + " " + row.RowKey}
		if row.RowKey == "~c" {
			continue // the catalogue
		}
		for _, p := range row.Properties {
			if p.Name != "_op" {
				r.Properties = append(r.Properties, p)
			}
		}
		slices.SortFunc(r.Properties, func(a, b storagetest.Property) int { return strings.Compare(a.Name, b.Name) })
		rows = append(rows, r)
	}
	return rows
}

// both are two accounts: a program with aztables uses one, and a program with aztablekit the other.
type both struct {
	sdk, kit *storagetest.Service
	client   *aztables.Client
	company  *aztablekit.Store
	staff    *table.Table[Employee]
}

// newBoth opens the accounts, and creates their tables.
func newBoth(t *testing.T) *both {
	t.Helper()
	b := &both{sdk: storagetest.New(nil), kit: storagetest.New(nil)}
	open := func(s *storagetest.Service) string {
		cs, err := s.Listen()
		fatal(t, err)
		t.Cleanup(func() { s.Close() })
		return cs
	}
	var err error
	b.client, err = sdkConnect(open(b.sdk))
	fatal(t, err)
	b.company, b.staff, err = kitConnect(open(b.kit))
	fatal(t, err)
	for range 2 { // a second time, the table exists
		fatal(t, errors.Join(sdkCreate(t.Context(), b.client), kitCreate(t.Context(), b.company)))
	}
	return b
}

// expectSame fails if the two accounts contain different rows, or another number of rows than n.
func (b *both) expectSame(t *testing.T, after string, n int) {
	t.Helper()
	sdk, kit := stored(b.sdk), stored(b.kit)
	if len(sdk) != n || !reflect.DeepEqual(sdk, kit) {
		t.Fatalf("after %s: got rows\n%v by aztables and\n%v by aztablekit, want the same %d rows", after, sdk, kit, n)
	}
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAztablesPairs: the code with aztables and the code with aztablekit on docs/aztables.md store the same rows, and return the
// same results.
func TestAztablesPairs(t *testing.T) {
	t.Parallel()
	ctx, b := t.Context(), newBoth(t)
	for _, step := range []struct {
		name string
		sdk  func(context.Context, *aztables.Client) error
		kit  func(context.Context, *table.Table[Employee]) error
		rows int
	}{
		{"insert", sdkInsert, kitInsert, 1},
		{"update", sdkUpdate, kitUpdate, 1},
		{"update again", sdkUpdate, kitReplace, 1},
		{"merge", sdkMerge, kitMerge, 1},
		{"upsert", sdkUpsert, kitUpsert, 2},
		{"upsert again", sdkUpsert, kitUpsert, 2},
	} {
		fatal(t, errors.Join(step.sdk(ctx, b.client), step.kit(ctx, b.staff)))
		b.expectSame(t, step.name, step.rows)
	}
	name1, salary1, err1 := sdkGet(ctx, b.client)
	name2, salary2, err2 := kitGet(ctx, b.staff)
	fatal(t, errors.Join(err1, err2))
	if name1 != "Jones" || salary1 != 56000 || name1 != name2 || salary1 != salary2 {
		t.Errorf("get: got %s, %d by aztables and %s, %d by aztablekit, want Jones, 56000", name1, salary1, name2, salary2)
	}
	_, err1 = sdkTransaction(ctx, b.client)
	_, err2 = kitTransaction(ctx, b.staff)
	fatal(t, errors.Join(err1, err2))
	b.expectSame(t, "transaction", 3)
	sdkFailed, err1 := sdkTransaction(ctx, b.client)
	kitFailed, err2 := kitTransaction(ctx, b.staff)
	if err1 == nil || !errors.Is(err2, table.ErrExists) || sdkFailed != 1 || kitFailed != 1 {
		t.Errorf("second transaction: got operation %d, %v by aztables and %d, %v by aztablekit, want 1 and errors", sdkFailed, err1, kitFailed, err2)
	}
	b.expectSame(t, "the second transaction", 3)

	names1, err1 := sdkQuery(ctx, b.client)
	names2, err2 := kitQuery(ctx, b.staff)
	fatal(t, errors.Join(err1, err2))
	if want := []string{"Jones", "Smith"}; !slices.Equal(names1, want) || !slices.Equal(names2, want) {
		t.Errorf("query: got %q by aztables and %q by aztablekit, want %q", names1, names2, want)
	}

	var pages1, pages2 []string
	for from := (position{}); ; {
		names, next, err := sdkPage(ctx, b.client, from)
		fatal(t, err)
		pages1 = append(pages1, strings.Join(names, "+"))
		if from = next; next == (position{}) {
			break
		}
	}
	for token := ""; ; {
		names, next, err := kitPage(ctx, b.staff, token)
		fatal(t, err)
		pages2 = append(pages2, strings.Join(names, "+"))
		if token = next; next == "" {
			break
		}
	}
	if want := []string{"Jones+Li", "Smith"}; !slices.Equal(pages1, want) || !slices.Equal(pages2, want) {
		t.Errorf("pages: got %q by aztables and %q by aztablekit, want %q", pages1, pages2, want)
	}

	fatal(t, errors.Join(sdkDelete(ctx, b.client), kitDelete(ctx, b.staff)))
	b.expectSame(t, "delete", 2)
	var refused1, refused2 *azcore.ResponseError
	err1, err2 = sdkDelete(ctx, b.client), kitDelete(ctx, b.staff)
	if !errors.As(err1, &refused1) || !errors.As(err2, &refused2) || refused1.StatusCode != http.StatusNotFound || refused2.StatusCode != http.StatusNotFound {
		t.Errorf("second delete: got %v by aztables and %v by aztablekit, want a *azcore.ResponseError of 404 from both", err1, err2)
	}
	for _, s := range []*storagetest.Service{b.kit, b.sdk} {
		fatal(t, openTyped(aztablekit.Open(s, "company", nil)))
		own := clients{s.Tables(), s.Queues()}
		staff := aztablekit.Table(aztablekit.Open(own, "company", nil), "staff", department, id)
		if name, _, err := kitGet(ctx, staff); err != nil || name != "Jones" {
			t.Errorf("get by the clients of the program: got %q, %v; want Jones", name, err)
		}
	}
	release := aztablekit.Open(b.sdk, "company", &aztablekit.Options{CatalogueAge: time.Second}) // so that Fill waits for 1.5 s
	if found, err := addIndex(ctx, release); err != nil || len(found) != 1 {
		t.Errorf("find Jones by the new index of a table that aztables made: got %d entities, %v; want one", len(found), err)
	}
}

// TestYourStruct: a struct that a program encodes for aztables is read and written as it is stored,
// by the tags on docs/aztables.md.
func TestYourStruct(t *testing.T) {
	t.Parallel()
	ctx, olds, news := t.Context(), storagetest.New(nil), storagetest.New(nil)
	older, client := olds.Tables().NewClient("products"), news.Tables().NewClient("products")
	company := aztablekit.Open(news, "company", nil)
	products := aztablekit.Table(company, "products", category, article)
	fatal(t, errors.Join(sdkCreate(ctx, older), kitCreate(ctx, company)))
	fatal(t, errors.Join(sdkProduct(ctx, older), kitProduct(ctx, products)))
	sdk, kit := storedIn(olds, "products"), storedIn(news, "products")
	if len(sdk) != 1 || !reflect.DeepEqual(sdk, kit) {
		t.Fatalf("got the rows\n%v by aztables and\n%v by aztablekit, want the same row", sdk, kit)
	}

	// Each program reads what the other has stored, and the library keeps what it does not change.
	ann := "Ann"
	saw := Product{
		Entity: aztables.Entity{PartitionKey: "Tools", RowKey: "000002"},
		Name:   "Saw", Price: 3, Stock: 1 << 40, Added: hired, Maker: &ann, Note: "n",
	}
	body, err := json.Marshal(saw)
	fatal(t, err)
	_, err = client.AddEntity(ctx, body, nil)
	fatal(t, err)
	e, err := products.Update(ctx, keys.Raw("Tools", "000002"), func(p *Product) error {
		if time.Time(p.Timestamp).IsZero() || p.Note != "n" {
			t.Errorf("got %+v, want a Timestamp and the note n", p)
		}
		p.Note = ""
		return nil
	})
	fatal(t, err)
	loaded, err := products.Get(ctx, e.Key)
	fatal(t, err)
	if !time.Time(loaded.Value.Timestamp).Equal(loaded.Timestamp) {
		t.Errorf("got the Timestamp %v in the value, want %v", time.Time(loaded.Value.Timestamp), loaded.Timestamp)
	}
	answer, err := client.GetEntity(ctx, "Tools", "000002", nil)
	fatal(t, err)
	read := map[string]Product{"the library": loaded.Value, "aztables": decoded[Product](t, answer.Value)}
	for what, got := range read {
		want := saw
		want.Note, want.Timestamp = "", got.Timestamp
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
		}
	}

	// Conditions and views use the names of the columns.
	type tag struct {
		Text  string            `json:"name"`
		Count aztables.EDMInt64 `json:"stock" table:",text"`
	}
	tags, err := table.ViewOf[tag](products)
	fatal(t, err)
	maker := table.FieldOf(func(p *Product) **string { return &p.Maker })
	changed := table.FieldOf(func(p *Product) *aztables.EDMDateTime { return &p.Timestamp })
	q := table.Query[Product]{Partition: keys.RawPartition("Tools"), Where: table.And(
		stock.Ne(12), maker.IsSet(), changed.Ge(loaded.Value.Timestamp))}
	var got []tag
	for p, err := range tags.List(ctx, q) {
		fatal(t, err)
		got = append(got, p.Value)
	}
	if want := []tag{{"Saw", 1 << 40}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var wrong *table.ValueError
	if err := products.Merge(ctx, loaded, changed.Set(loaded.Value.Timestamp)); !errors.As(err, &wrong) {
		t.Errorf("a merge of the Timestamp: got %v, want a *ValueError", err)
	}
}

// decoded returns a value of its JSON.
func decoded[T any](t *testing.T, b []byte) (v T) {
	t.Helper()
	fatal(t, json.Unmarshal(b, &v))
	return v
}
