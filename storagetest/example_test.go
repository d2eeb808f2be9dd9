package storagetest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"syscall"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A program runs on an account in memory. After the lost response of request 3, the library sends the request again, and one read
// shows that the first attempt succeeded.
func Example() {
	type employee struct {
		Department string
		ID         int
		Age        int32
	}
	ctx := context.Background()
	s := storagetest.New(nil)
	company := aztablekit.Open(s, "company", nil)
	staff := aztablekit.Table(company, "staff",
		keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department }),
		keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID }))
	check(company.Ensure(ctx))
	jones, err := staff.Insert(ctx, &employee{"Sales", 223, 44})
	check(err)

	before := len(s.Requests())
	s.SetFaults(storagetest.AtRequest(before+1, storagetest.LostResponse()))
	jones.Value.Age = 45
	fmt.Println("replaced:", staff.Replace(ctx, jones))
	fmt.Println("stored:", s.Rows("staff")[0].Get("Age"))
	for _, r := range s.Requests()[before:] {
		fmt.Println(r)
	}
	// Output:
	// replaced: <nil>
	// stored: 45
	// 10 replace staff('Sales','empid_000223') [response lost]: 204
	// 11 replace staff('Sales','empid_000223'): 412 UpdateConditionNotSatisfied
	// 12 get staff('Sales','empid_000223'): 200
}

// createStaff creates a table called staff and returns the SDK's client of the table.
func createStaff(s *storagetest.Service) *aztables.Client {
	c := s.Tables()
	_, err := c.CreateTable(context.Background(), "staff", nil)
	check(err)
	s.Count()
	return c.NewClient("staff")
}

// An account with the SDK's clients, whose requests a test counts.
func ExampleNew() {
	ctx := context.Background()
	var counter requests.Counter
	s := storagetest.New(&storagetest.Options{Account: "contoso", Client: table.ClientOptions(azcore.ClientOptions{}, &counter)})
	_, err := s.Tables().CreateTable(ctx, "staff", nil)
	check(err)
	_, err = s.Queues().CreateQueue(ctx, "letters", nil)
	check(err)
	_, err = s.Queues().NewQueueClient("letters").EnqueueMessage(ctx, "Dear Jones", nil)
	check(err)
	fmt.Println(s.Account(), len(s.Key()) > 0)
	fmt.Println(s.TableNames(), s.QueueNames(), len(s.Messages("letters")))
	fmt.Println(counter.Take())
	// Output:
	// contoso true
	// [staff] [letters] 1
	// 1 message-put, 1 other, 1 table-create
}

// A program that takes an account.Account runs on an account in memory.
func ExampleService() {
	s := storagetest.New(nil)
	acc, err := account.FromTransport(s, nil)
	check(err)
	_, err = acc.Tables().CreateTable(context.Background(), "staff", nil)
	check(err)
	fmt.Println(s.TableNames())
	// Output: [staff]
}

// A program makes its own client.
func ExampleService_ConnectionString() {
	s := storagetest.New(nil)
	c, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{
		ClientOptions: azcore.ClientOptions{Transport: s},
	})
	check(err)
	_, err = c.CreateTable(context.Background(), "staff", nil)
	check(err)
	fmt.Println(s.TableNames())
	// Output: [staff]
}

// Programs in other processes and other languages use the account at a port.
func ExampleService_Listen() {
	s := storagetest.New(nil)
	connectionString, err := s.Listen()
	check(err)
	defer s.Close()
	c, err := aztables.NewServiceClientFromConnectionString(connectionString, nil)
	check(err)
	_, err = c.CreateTable(context.Background(), "staff", nil)
	check(err)
	fmt.Println(s.TableNames())
	// Output: [staff]
}

// Programs that expect an emulator at its usual ports use the account after s.Listen().
func ExampleDevelopmentStorage() {
	s := storagetest.New(storagetest.DevelopmentStorage())
	fmt.Println(s.Account(), len(s.Key()))
	// Output: devstoreaccount1 88
}

// A test sets the clock forward.
func ExampleService_Advance() {
	ctx := context.Background()
	s := storagetest.New(nil)
	staff := createStaff(s)
	_, err := staff.Delete(ctx, nil)
	check(err)
	_, err = staff.CreateTable(ctx, nil)
	fmt.Println("at once:", code(err))
	before := s.Now()
	s.Advance(time.Minute)
	_, err = staff.CreateTable(ctx, nil)
	fmt.Println("after a minute:", err, s.Now().Sub(before) >= time.Minute)
	// Output:
	// at once: TableBeingDeleted
	// after a minute: <nil> true
}

// An insert arrives after another program has inserted the row.
func ExampleService_Deliver() {
	ctx := context.Background()
	s := storagetest.New(nil)
	staff := createStaff(s)
	mine := storagetest.When(func(r storagetest.Request) bool { return r.RowKey == "a" }, storagetest.Late(0))
	s.SetFaults(storagetest.First(mine, storagetest.OfKind(requests.Delete, storagetest.Twice())))
	once := policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
	_, err := staff.AddEntity(once, []byte(`{"PartitionKey":"p","RowKey":"a","By":"me"}`), nil)
	fmt.Println(errors.Is(err, syscall.ECONNRESET), s.LateRequests())
	s.SetFaults(nil)
	_, err = staff.UpsertEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"a","By":"others"}`), nil)
	check(err)
	s.DeliverOne(0)
	fmt.Println(s.Rows("staff")[0].Get("By"), len(s.Deliver()))
	// Output:
	// true [2 insert staff('p','a') [late, at the end]]
	// others 0
}

func ExampleService_Count() {
	ctx := context.Background()
	s := storagetest.New(nil)
	staff := createStaff(s)
	for _, row := range []string{"a", "b"} {
		_, err := staff.AddEntity(ctx, entity(row), nil)
		check(err)
	}
	_, err := staff.GetEntity(ctx, "p", "a", nil)
	check(err)
	fmt.Println(s.Count())
	fmt.Println(s.Count())
	// Output:
	// 1 get, 2 insert
	// none
}

// A custom Transport describes a request before sending the request.
func ExampleService_Describe() {
	s := storagetest.New(nil)
	r, err := http.NewRequest("GET", "http://storagetest.table.storagetest.test/staff()?$filter=PartitionKey%20eq%20'Sales'", nil)
	check(err)
	request, _, err := s.Describe(r)
	check(err)
	fmt.Println(request)
	// Output: query staff('Sales','')
}

// After the lost response of a get, the message is hidden for 30 seconds and then visible again.
func ExampleService_Messages() {
	ctx := context.Background()
	s := storagetest.New(nil)
	hints := s.Queues().NewQueueClient("hints")
	_, err := hints.Create(ctx, nil)
	check(err)
	_, err = hints.EnqueueMessage(ctx, "Sales", nil)
	check(err)

	s.SetFaults(storagetest.OfKind("message-get", storagetest.LostResponse()))
	_, err = hints.DequeueMessage(policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1}), nil)
	fmt.Println("lost:", errors.Is(err, syscall.ECONNRESET))
	s.SetFaults(nil)
	got, err := hints.DequeueMessage(ctx, nil)
	check(err)
	fmt.Println("at once:", len(got.Messages))
	s.Advance(30 * time.Second)
	got, err = hints.DequeueMessage(ctx, nil)
	check(err)
	fmt.Println("later:", *got.Messages[0].MessageText)
	m := s.Messages("hints")[0]
	fmt.Println(s.QueueNames(), m.Text, m.Dequeued, m.Visible.After(s.Now()))
	fmt.Println(s.Requests()[2])
	// Output:
	// lost: true
	// at once: 0
	// later: Sales
	// [hints] Sales 2 true
	// 3 message-get hints [response lost]: 200
}

// The first response is lost, so the client's next attempt finds the row of the first attempt.
func ExampleOnce() {
	ctx := context.Background()
	s := storagetest.New(nil)
	staff := createStaff(s)
	s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.LostResponse())))
	for range 2 {
		_, err := staff.AddEntity(policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1}), []byte(`{"PartitionKey":"Sales","RowKey":"empid_000223"}`), nil)
		fmt.Println("failed:", err != nil)
	}
	for _, r := range s.Requests()[1:] {
		fmt.Println(r)
	}
	// Output:
	// failed: true
	// failed: true
	// 2 insert staff('Sales','empid_000223') [response lost]: 201
	// 3 insert staff('Sales','empid_000223'): 409 EntityAlreadyExists
}

// The service is busy for the first two requests of a kind.
func ExampleTimes() {
	ctx := context.Background()
	s := storagetest.New(nil)
	staff := createStaff(s)
	s.SetFaults(storagetest.OfKind(requests.Get, storagetest.Times(2, storagetest.Refuse(503, "ServerBusy"))))
	for range 3 {
		_, err := staff.GetEntity(policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1}), "Sales", "empid_000223", nil)
		var re *azcore.ResponseError
		fmt.Println(errors.As(err, &re), re.ErrorCode)
	}
	// Output:
	// true ServerBusy
	// true ServerBusy
	// true ResourceNotFound
}

// Each fault describes itself.
func ExampleFault() {
	for _, f := range []storagetest.Fault{
		storagetest.NotSent(), storagetest.LostRequest(), storagetest.LostResponse(), storagetest.Twice(), storagetest.LateDuplicate(1), storagetest.Late(2),
		storagetest.Refuse(503, "ServerBusy"), storagetest.ExecuteThenRefuse(500, "OperationTimedOut"), storagetest.RefuseInTransaction(412, "UpdateConditionNotSatisfied"),
		storagetest.Cut(100), storagetest.Truncate(-1), storagetest.Hang(), storagetest.ExecuteThenHang(), storagetest.Slow(time.Second), storagetest.ShortPage(0), storagetest.PartitionPage(),
	} {
		fmt.Println(f)
	}
	// Output:
	// not sent
	// request lost
	// response lost
	// twice
	// late duplicate, after 1 others
	// late, after 2 others
	// refused 503 ServerBusy
	// executed, then refused 500 OperationTimedOut
	// refused in transaction 412 UpdateConditionNotSatisfied
	// response cut at 100
	// response truncated at -1
	// hang
	// executed, then hang
	// slow 1s
	// short page of 0
	// page of a partition
}

func ExampleAdverse() {
	s := storagetest.New(nil)
	staff := s.Tables().NewClient("staff")
	if _, err := staff.CreateTable(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
	s.SetFaults(storagetest.Adverse(storagetest.Adversity{Seed: 1, Delay: time.Millisecond}))
	n := 0
	for pages := staff.NewListEntitiesPager(nil); pages.More(); {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		n += len(page.Entities)
	}
	fmt.Println(n, "entities")
	// Output: 0 entities
}

func ExamplePartitionPage() {
	s := storagetest.New(nil)
	staff := s.Tables().NewClient("staff")
	if _, err := staff.CreateTable(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
	for _, body := range []string{`{"PartitionKey":"Sales","RowKey":"1"}`, `{"PartitionKey":"Support","RowKey":"2"}`} {
		if _, err := staff.AddEntity(context.Background(), []byte(body), nil); err != nil {
			log.Fatal(err)
		}
	}
	s.SetFaults(storagetest.OfKind(requests.Query, storagetest.PartitionPage()))
	page, err := staff.NewListEntitiesPager(nil).NextPage(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(page.Entities), "entity; next partition:", *page.NextPartitionKey != "", "; next row:", page.NextRowKey != nil)
	// Output: 1 entity; next partition: true ; next row: false
}
