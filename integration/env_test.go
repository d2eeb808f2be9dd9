package integration

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
)

// env is what one test has of a service: an account, whose requests are counted, and fresh names.
type env struct {
	testing.TB
	backend backend
	acc     *account.Account
	tables  *aztables.ServiceClient // the account's, or one without policies
	counter *requests.Counter
}

var serial atomic.Int64

func newEnv(t testing.TB, b backend) *env {
	e := &env{TB: t, backend: b, counter: new(requests.Counter)}
	e.acc = e.account(b.ConnectionString())
	e.tables = e.acc.Tables()
	if _, is := b.(plain); is {
		var err error
		e.tables, err = tablesOf(b, e.counter, nil)
		e.must(err)
	}
	return e
}

func (e *env) account(cs string) *account.Account {
	e.Helper()
	acc, err := account.FromConnectionString(cs, &account.Options{Client: e.backend.Client(), Counter: e.counter})
	if err != nil {
		e.Fatal(err)
	}
	return acc
}

// freshName returns a name for a table or a queue that no other test uses.
func freshName() string {
	return fmt.Sprintf("t%d%x", serial.Add(1), time.Now().UnixNano())
}

// wantRequests fails the test unless exactly these requests were sent since the last call: wantRequests("1 get") or
// wantRequests("none").
func (e *env) wantRequests(want string) {
	e.Helper()
	got := e.counter.Take().String()
	if _, is := e.backend.(adverse); is {
		return // requests are repeated, and pages are short
	}
	if got != want {
		e.Errorf("requests: got %s; want %s", got, want)
	}
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("got error %v; want none", err)
	}
}

// blindWrites returns the options of tables whose entities have no derived rows.
func blindWrites() *table.Options { return &table.Options{BlindWrites: true} }

// newTable creates a fresh table of T.
func newTable[T any](e *env, schema table.Schema[T], o *table.Options) *table.Table[T] {
	e.Helper()
	t, err := bare.NewTable(e.tables, freshName(), schema, o)
	e.must(err)
	e.must(tabledoor.Ensure(context.Background(), t))
	e.counter.Take()
	return t
}

// sameTable returns a handle of an existing table for another type.
func sameTable[T, O any](e *env, of *table.Table[O], schema table.Schema[T]) *table.Table[T] {
	e.Helper()
	t, err := bare.NewTable(e.tables, of.Name(), schema, blindWrites())
	e.must(err)
	return t
}

// joined returns the words that a list yields.
func joined(words []string) string { return strings.Join(words, " ") }
