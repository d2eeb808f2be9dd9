package integration

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// backend is a service that the behaviour suite runs on.
type backend interface {
	Name() string
	ConnectionString() string
	// Client returns the options that clients of the service need.
	Client() azcore.ClientOptions
}

type onAzurite struct{ *azurite.Server }

func (onAzurite) Name() string               { return "azurite" }
func (a onAzurite) ConnectionString() string { return a.Server.ConnectionString }
func (onAzurite) Client() azcore.ClientOptions {
	return azcore.ClientOptions{PerCallPolicies: []policy.Policy{azurite.ASCII{}}}
}

// inProcess is the service of storagetest. Tests call it directly, and other processes over a port.
type inProcess struct {
	*storagetest.Service
	connection string
}

func (inProcess) Name() string               { return "storagetest" }
func (s inProcess) ConnectionString() string { return s.connection }
func (s inProcess) Client() azcore.ClientOptions {
	return azcore.ClientOptions{Transport: s.Service}
}

// adverse is a service of storagetest that throttles, moves partitions, shortens pages and is late, by a seed. Requests are repeated
// then, so their numbers are not compared.
type adverse struct{ inProcess }

func (adverse) Name() string { return "adverse storagetest" }

func (a adverse) Client() azcore.ClientOptions {
	o := a.inProcess.Client()
	o.Retry.RetryDelay, o.Retry.MaxRetries = time.Millisecond, 20
	return o
}

// newAdverse returns a new adverse service at a port. Writes find their partition: if the service answers a write with 500, the
// refusal of the next attempt may come from the first one, so stories that want refusals would find an unknown outcome. The tests
// of faults of each package have such writes.
func newAdverse(seed uint64) (adverse, error) {
	all := storagetest.Adverse(storagetest.Adversity{Seed: seed, Move: 2 * time.Millisecond, Delay: 2 * time.Millisecond})
	s := storagetest.New(&storagetest.Options{Faults: func(r storagetest.Request) storagetest.Fault {
		f := all(r)
		if r.Kind != requests.Get && r.Kind != requests.Query && f == storagetest.Refuse(http.StatusInternalServerError, "OperationTimedOut") {
			return storagetest.Fault{}
		}
		return f
	}})
	connection, err := s.Listen()
	return adverse{inProcess{s, connection}}, err
}

// adverseSeed is the seed of the adverse service.
func adverseSeed() uint64 {
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("AZTABLEKIT_ADVERSE"), "1"), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("AZTABLEKIT_ADVERSE: %v", err))
	}
	return seed
}

// plain is a service for clients of the Table service without the policies of table.ClientOptions, so that every entity passes
// through the SDK.
type plain struct{ backend }

func (p plain) Name() string { return "plain " + p.backend.Name() }

// isAzurite reports whether a backend is the emulator, on either path.
func isAzurite(b backend) bool {
	if p, is := b.(plain); is {
		b = p.backend
	}
	_, is := b.(onAzurite)
	return is
}

// tablesOf returns a client of the Table service on the path of the backend, with policies in front of all others. Its requests are
// counted, and go through the transport unless that is nil.
func tablesOf(b backend, counter *requests.Counter, through policy.Transporter, front ...policy.Policy) (*aztables.ServiceClient, error) {
	o := b.Client()
	if through != nil {
		o.Transport, o.Retry.RetryDelay = through, time.Millisecond // the SDK repeats reads
	}
	if _, is := b.(plain); is {
		o.PerRetryPolicies = append(o.PerRetryPolicies, counter)
	} else {
		o = table.ClientOptions(o, counter)
	}
	o.PerCallPolicies = append(front, o.PerCallPolicies...)
	return aztables.NewServiceClientFromConnectionString(b.ConnectionString(), &aztables.ClientOptions{ClientOptions: o})
}

// backends are the services of this run. TestMain fills it.
var backends []backend

// services returns the backends but the plain ones, for tests of queues and blobs: those are the same services on another path to tables.
func services() []backend {
	return slices.DeleteFunc(slices.Clone(backends), func(b backend) bool {
		_, is := b.(plain)
		return is
	})
}

// ways are the services on both paths to the Table service: with the policies of table.ClientOptions and without. TestMain fills it.
var ways []backend

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("OTHER_TABLE") != "" {
		os.Exit(m.Run()) // the process of another test, which names its service
	}
	double := storagetest.New(nil)
	connection, err := double.Listen()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	memory := inProcess{double, connection}
	backends = append(backends, plain{memory}, memory)
	ways = append(ways, backends...)
	hostile, err := newAdverse(adverseSeed())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ways = append(ways, hostile)
	if testing.Short() {
		os.Exit(m.Run())
	}
	s, err := azurite.Open(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	backends = append(backends, onAzurite{s})
	ways = append(ways, plain{onAzurite{s}}, onAzurite{s})
	code := m.Run()
	s.Stop()
	os.Exit(code)
}
