package others

import (
	"errors"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/tus/tusd/v2/pkg/azurestore"
	"github.com/tus/tusd/v2/pkg/handler"
)

// TestTusd: each upload of this version of tusd begins with a block of 0 bytes. The service refuses such a block, and so does storagetest.
func TestTusd(t *testing.T) {
	t.Parallel()
	s := newAccount(t)
	connection, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	_, endpoint, _ := strings.Cut(connection, "BlobEndpoint=")
	endpoint, _, _ = strings.Cut(endpoint, ";")
	service, err := azurestore.NewAzureService(&azurestore.AzConfig{AccountName: s.Account(), AccountKey: s.Key(), ContainerName: "uploads", Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	_, err = azurestore.New(service).NewUpload(t.Context(), handler.FileInfo{ID: "one", Size: 5})
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) || refused.StatusCode != 400 || refused.ErrorCode != "InvalidHeaderValue" {
		t.Errorf("got %v; want 400 InvalidHeaderValue", err)
	}
}
