package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
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

// plain is the service of storagetest for clients of the Table service without the policies of table.ClientOptions, so that every
// entity passes through the SDK.
type plain struct{ inProcess }

func (plain) Name() string { return "plain" }

// tables returns the client of the Table service, whose requests are counted.
func (p plain) tables(counter *requests.Counter) (*aztables.ServiceClient, error) {
	o := p.Client()
	o.PerRetryPolicies = []policy.Policy{counter}
	return aztables.NewServiceClientFromConnectionString(p.ConnectionString(), &aztables.ClientOptions{ClientOptions: o})
}

// backends are the services of this run. TestMain fills it.
var backends []backend

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("OTHER_TABLE") != "" {
		os.Exit(m.Run()) // the process of another test, which names its service
	}
	if text := os.Getenv(moverEnv); text != "" {
		os.Exit(runMoverProcess(text))
	}
	if text := os.Getenv(logWriterEnv); text != "" {
		os.Exit(runLogWriter(text))
	}
	if text := os.Getenv(uploaderEnv); text != "" {
		os.Exit(runUploader(text))
	}
	if text := os.Getenv(relocatorEnv); text != "" {
		os.Exit(runRelocator(text))
	}
	double := storagetest.New(nil)
	connection, err := double.Listen()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	backends = append(backends, plain{inProcess{double, connection}}, inProcess{double, connection})
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

// onOneBackend runs a test that takes long on Azurite alone, and with -short on the service in memory.
func onOneBackend(t *testing.T, test func(*testing.T, backend)) {
	for _, b := range backends {
		if b.Name() != "azurite" && !testing.Short() {
			continue
		}
		t.Run(b.Name(), func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}
