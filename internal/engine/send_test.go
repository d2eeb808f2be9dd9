package engine

import (
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// TestDeleteWithoutETag: a service may list a row without an ETag. In a transaction, its deletion
// is unconditional, as one by the SDK is.
func TestDeleteWithoutETag(t *testing.T) {
	t.Parallel()
	for match, want := range map[string]string{"": "*", `W/"1"`: `W/"1"`} {
		u, err := url.Parse("https://account.table.core.windows.net/$batch")
		if err != nil {
			t.Fatal(err)
		}
		w := wire.NewBatchWriter(u, "staff", 1)
		s := step{Op: &Op{Kind: aztables.TransactionTypeDelete, Key: keys.Raw("p", "r")}}
		s.Match = azcore.ETag(match)
		s.write(w)
		body, _ := w.Finish()
		text, err := io.ReadAll(body)
		if err != nil || !strings.Contains(string(text), "If-Match: "+want+"\r\n") {
			t.Errorf("condition %q: got %s, error %v; want If-Match: %s", match, text, err, want)
		}
	}
}
