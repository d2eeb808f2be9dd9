package others

import (
	"testing"

	_ "github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/checkpoints"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/azure"

	"github.com/aztablekit/aztablekit/tools/suites"
)

// TestRegistry: the storage driver of the container registry passes its own tests, but for one that
// writes 5 GiB: it is left out by -short.
func TestRegistry(t *testing.T) {
	t.Parallel()
	runPackage(t, "github.com/distribution/distribution/v3/registry/storage/driver/azure", suites.Suite{
		Flags: []string{"-test.short"}, Container: "registry", Tests: 40,
		Environment: []string{
			"AZURE_STORAGE_CREDENTIALS_TYPE=shared_key", "AZURE_STORAGE_ACCOUNT_NAME={name}", "AZURE_STORAGE_ACCOUNT_KEY={key}",
			"AZURE_STORAGE_CONTAINER=registry", "AZURE_SERVICE_URL=https://{name}.blob.core.windows.net",
		},
	})
}

// TestCheckpointStore: the store of Event Hubs for checkpoints and for owners of partitions passes
// its own tests.
func TestCheckpointStore(t *testing.T) {
	t.Parallel()
	runPackage(t, "github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/checkpoints", suites.Suite{
		Environment: []string{"CHECKPOINTSTORE_STORAGE_ENDPOINT=https://{name}.blob.core.windows.net"}, Tests: 10,
	})
}
