package others

import (
	"errors"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/tus/tusd/v2/pkg/azurestore"
	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/aztablekit/aztablekit/tools/suites"
)

// TestTusd: each upload of this version of tusd begins with a block of 0 bytes. The service refuses
// such a block, and so does storagetest.
func TestTusd(t *testing.T) {
	t.Parallel()
	err := upload(t, suites.InMemory(t))
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) || refused.StatusCode != 400 || refused.ErrorCode != "InvalidHeaderValue" {
		t.Errorf("storagetest: got %v; want 400 InvalidHeaderValue", err)
	}
	if suites.Compared() {
		t.Logf("Azurite: got %v", upload(t, suites.Emulator(t)))
	}
}

// upload begins an upload.
func upload(t *testing.T, a *suites.Account) error {
	t.Helper()
	service, err := azurestore.NewAzureService(&azurestore.AzConfig{
		AccountName: a.Name, AccountKey: a.Key, ContainerName: "uploads", Endpoint: strings.TrimSuffix(a.Blobs(t).URL(), "/"),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = azurestore.New(service).NewUpload(t.Context(), handler.FileInfo{ID: "one", Size: 5})
	return err
}
