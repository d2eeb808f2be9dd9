package others

import (
	"testing"

	_ "github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/checkpoints"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/azure"
)

// TestRegistry: the storage driver of the container registry passes its own tests, but for one that writes 5 GiB: it is left out by -short.
func TestRegistry(t *testing.T) {
	t.Parallel()
	s := newAccount(t)
	if _, err := s.Blobs().CreateContainer(t.Context(), "registry", nil); err != nil {
		t.Fatal(err)
	}
	u := suite{tests: 40, flags: []string{"-test.short"}, environment: []string{
		"AZURE_STORAGE_CREDENTIALS_TYPE=shared_key", "AZURE_STORAGE_ACCOUNT_NAME=" + s.Account(), "AZURE_STORAGE_ACCOUNT_KEY=" + s.Key(),
		"AZURE_STORAGE_CONTAINER=registry", "AZURE_SERVICE_URL=https://" + s.Account() + ".blob.core.windows.net",
	}}
	u.runPackage(t, s, "github.com/distribution/distribution/v3/registry/storage/driver/azure")
}

// TestCheckpointStore: the store of Event Hubs for checkpoints and for owners of partitions passes its own tests.
func TestCheckpointStore(t *testing.T) {
	t.Parallel()
	s := newAccount(t)
	u := suite{tests: 10, environment: []string{"CHECKPOINTSTORE_STORAGE_ENDPOINT=https://" + s.Account() + ".blob.core.windows.net"}}
	u.runPackage(t, s, "github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/checkpoints")
}
