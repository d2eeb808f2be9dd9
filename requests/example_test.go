package requests_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// openStaff creates a table whose client has a policy.
func openStaff(p policy.Policy) *aztables.Client {
	s := storagetest.New(&storagetest.Options{Client: azcore.ClientOptions{PerRetryPolicies: []policy.Policy{p}}})
	_, err := s.Tables().CreateTable(context.Background(), "staff", nil)
	check(err)
	return s.Tables().NewClient("staff")
}

// A Counter counts the requests of a piece of code, in production and in tests.
func ExampleCounter() {
	ctx := context.Background()
	var counter requests.Counter
	staff := openStaff(&counter)
	counter.Take()

	for _, id := range []string{"empid_000223", "empid_000224"} {
		_, err := staff.AddEntity(ctx, fmt.Appendf(nil, `{"PartitionKey":"Sales","RowKey":%q}`, id), nil)
		check(err)
	}
	_, err := staff.GetEntity(ctx, "Sales", "empid_000223", nil)
	check(err)
	n := counter.Take()
	fmt.Println(n)
	fmt.Println(n.Total(), n[requests.Insert], n[requests.Query])
	text, err := json.Marshal(n)
	fmt.Println(string(text), err)
	// Output:
	// 1 get, 2 insert
	// 3 2 0
	// {"get":1,"insert":2} <nil>
}

// Counts are the cost of a piece of code.
func ExampleCounts() {
	type employee struct {
		Department string
		ID         int
		Age        int32
	}
	ctx := context.Background()
	var counter requests.Counter
	acc, err := account.FromTransport(storagetest.New(nil), &account.Options{Counter: &counter})
	check(err)
	company := aztablekit.Open(acc, "company", nil)
	staff := aztablekit.Table(company, "staff",
		keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department }),
		keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID }))
	check(company.Ensure(ctx))
	jones, err := staff.Insert(ctx, &employee{"Sales", 223, 44})
	check(err)
	counter.Take()

	_, err = staff.Update(ctx, jones.Key, func(e *employee) error { e.Age++; return nil })
	check(err)
	n := counter.Take()
	fmt.Println(n, n.Total(), n[requests.Replace])
	// Output: 1 get, 1 replace 2 1
}

// logKinds is a policy that prints the kind of each request.
type logKinds struct{}

func (logKinds) Do(r *policy.Request) (*http.Response, error) {
	resp, err := r.Next()
	if err == nil {
		fmt.Println(requests.KindOf(r.Raw()), resp.StatusCode)
	}
	return resp, err
}

// A policy reports the kind and the status of each request.
func ExampleKindOf() {
	staff := openStaff(logKinds{})
	_, err := staff.UpsertEntity(context.Background(), []byte(`{"PartitionKey":"Sales","RowKey":"empid_000223"}`), nil)
	check(err)
	// Output:
	// table-create 201
	// insert-or-merge 204
}
