package integration

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/table"
)

// env is what one test has of a service: an account of its own, whose requests are counted, and names that nobody else uses.
type env struct {
	*testing.T
	backend backend
	acc     *account.Account
	counter *table.Counter
}

var serial atomic.Int64

func newEnv(t *testing.T, b backend) *env {
	e := &env{T: t, backend: b, counter: new(table.Counter)}
	e.acc = e.account(b.ConnectionString())
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

// fresh is a table name of this test's own.
func (e *env) freshName() string {
	return fmt.Sprintf("t%d%x", serial.Add(1), time.Now().UnixNano())
}

// did fails the test unless just these requests were sent since the last call: did("1 get") or did("none").
func (e *env) wantRequests(want string) {
	e.Helper()
	if got := e.counter.Take().String(); got != want {
		e.Errorf("requests: got %s; want %s", got, want)
	}
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("got error %v; want none", err)
	}
}

// blind are options of tables whose rows have no derived rows.
func blindWrites() *table.Options { return &table.Options{BlindWrites: true} }

// open makes a fresh table of T.
func newTable[T any](e *env, schema table.Schema[T], o *table.Options) *table.Table[T] {
	e.Helper()
	t, err := table.New(e.acc.Tables(), e.freshName(), schema, o)
	e.must(err)
	e.must(t.Ensure(context.Background()))
	e.counter.Take()
	return t
}

// same is open for a second type in the same table.
func sameTable[T, O any](e *env, of *table.Table[O], schema table.Schema[T]) *table.Table[T] {
	e.Helper()
	t, err := table.New(e.acc.Tables(), of.Name(), schema, blindWrites())
	e.must(err)
	return t
}

// lines joins what a list yields, one word each.
func joined(words []string) string { return strings.Join(words, " ") }
