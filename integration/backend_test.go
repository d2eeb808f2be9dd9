package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// backend is a service that the behaviour suite runs on.
type backend interface {
	Name() string
	ConnectionString() string
	// Client are options that the service needs of its clients.
	Client() azcore.ClientOptions
}

type onAzurite struct{ *azurite.Server }

func (onAzurite) Name() string               { return "azurite" }
func (a onAzurite) ConnectionString() string { return a.Server.ConnectionString }
func (onAzurite) Client() azcore.ClientOptions {
	return azcore.ClientOptions{PerCallPolicies: []policy.Policy{azurite.ASCII{}}}
}

// inProcess is the service of storagetest: called directly by this process, and over a port by others.
type inProcess struct {
	*storagetest.Service
	connection string
}

func (inProcess) Name() string               { return "storagetest" }
func (s inProcess) ConnectionString() string { return s.connection }
func (s inProcess) Client() azcore.ClientOptions {
	return azcore.ClientOptions{Transport: s.Service}
}

// backends is filled by TestMain.
var backends []backend

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("OTHER_TABLE") != "" {
		os.Exit(m.Run()) // another process of a test, which brings its service
	}
	if text := os.Getenv(factoryEnv); text != "" {
		os.Exit(workInFactory(text))
	}
	double := storagetest.New(nil)
	connection, err := double.Listen()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	backends = append(backends, inProcess{double, connection})
	if testing.Short() {
		os.Exit(m.Run())
	}
	s, err := azurite.Open(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	backends = append(backends, onAzurite{s})
	code := m.Run()
	s.Stop()
	os.Exit(code)
}

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
func (e *env) fresh() string {
	return fmt.Sprintf("t%d%x", serial.Add(1), time.Now().UnixNano())
}

// did fails the test unless just these requests were sent since the last call: did("1 get") or did("none").
func (e *env) did(want string) {
	e.Helper()
	if got := e.counter.Take().String(); got != want {
		e.Errorf("requests: %s, want %s", got, want)
	}
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// TestBehaviour is the suite: what the library promises, on every service.
func TestBehaviour(t *testing.T) {
	for _, b := range backends {
		t.Run(b.Name(), func(t *testing.T) {
			t.Parallel()
			for _, part := range []map[string]func(*env){suite, queueSuite} {
				for name, f := range part {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						f(newEnv(t, b))
					})
				}
			}
		})
	}
}

// blind are options of tables whose rows have no derived rows.
func blind() *table.Options { return &table.Options{BlindWrites: true} }

// open makes a fresh table of T.
func open[T any](e *env, schema table.Schema[T], o *table.Options) *table.Table[T] {
	e.Helper()
	t, err := table.New(e.acc.Tables(), e.fresh(), schema, o)
	e.must(err)
	e.must(t.Ensure(context.Background()))
	e.counter.Take()
	return t
}

// same is open for a second type in the same table.
func same[T, O any](e *env, of *table.Table[O], schema table.Schema[T]) *table.Table[T] {
	e.Helper()
	t, err := table.New(e.acc.Tables(), of.Name(), schema, blind())
	e.must(err)
	return t
}

// lines joins what a list yields, one word each.
func lines(words []string) string { return strings.Join(words, " ") }
