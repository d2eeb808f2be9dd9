package others

import (
	"testing"

	"github.com/dapr/components-contrib/bindings/azure/blobstorage"
	"github.com/dapr/components-contrib/bindings/azure/storagequeues"
	"github.com/dapr/components-contrib/state"
	blobstorev1 "github.com/dapr/components-contrib/state/azure/blobstorage/v1"
	blobstorev2 "github.com/dapr/components-contrib/state/azure/blobstorage/v2"
	"github.com/dapr/components-contrib/state/azure/tablestorage"
	"github.com/dapr/components-contrib/tests/conformance/bindings"
	stateconformance "github.com/dapr/components-contrib/tests/conformance/state"
	"github.com/dapr/kit/logger"
)

// TestDapr: the components of Dapr for tables, blobs and queues pass Dapr's conformance tests, with
// the operations and the settings that the tests of Dapr use for them.
func TestDapr(t *testing.T) {
	t.Parallel()
	name, key := runHere(t, 83)
	if name == "" {
		return
	}
	log := logger.NewLogger("others")
	account := func(more ...string) map[string]string {
		all := map[string]string{"accountName": name, "accountKey": key}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	for component, c := range map[string]struct {
		store      state.Store
		properties map[string]string
		settings   map[string]any
	}{
		"azure.tablestorage": {
			tablestorage.NewAzureTablesStateStore(log), account("tableName", "TestTable"),
			map[string]any{"badEtag": "W/\"datetime'2023-05-09T12%3A28%3A54.1442151Z'\""},
		},
		"azure.blobstorage.v1": {blobstorev1.NewAzureBlobStorageStore(log), account("containerName", "state-v1"), nil},
		"azure.blobstorage.v2": {blobstorev2.NewAzureBlobStorageStore(log), account("containerName", "state-v2"), nil},
	} {
		t.Run("state."+component, func(t *testing.T) {
			config, err := stateconformance.NewTestConfig(component, []string{"etag", "first-write"}, c.settings)
			if err != nil {
				t.Fatal(err)
			}
			stateconformance.ConformanceTests(t, c.properties, c.store, config)
		})
	}
	t.Run("bindings.azure.blobstorage", func(t *testing.T) {
		config, err := bindings.NewTestConfig("azure.blobstorage", []string{"create", "operations", "get", "list"}, map[string]any{
			"output":     map[string]string{"blobName": "conformance"},
			"outputData": `{"maxResults": 10, "include": {"metadata": true, "snapshots": false}}`,
		})
		if err != nil {
			t.Fatal(err)
		}
		bindings.ConformanceTests(t, account("containerName", "binding"), nil, blobstorage.NewAzureBlobStorage(log), config)
	})
	t.Run("bindings.azure.storagequeues", func(t *testing.T) {
		config, err := bindings.NewTestConfig("azure.storagequeues", []string{"create", "operations", "read"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		properties := account("queueName", "conformance", "ttlInSeconds", "60", "pollingInterval", "100ms")
		bindings.ConformanceTests(t, properties, storagequeues.NewAzureStorageQueues(log), storagequeues.NewAzureStorageQueues(log), config)
	})
}
