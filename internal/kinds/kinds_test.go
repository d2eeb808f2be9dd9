package kinds_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
)

// TestNames: each kind has its name.
func TestNames(t *testing.T) {
	t.Parallel()
	for kind, want := range map[requests.Kind]string{
		kinds.MessagePeek:     "message-peek",
		kinds.MessageClear:    "message-clear",
		kinds.QueueCreate:     "queue-create",
		kinds.QueueDelete:     "queue-delete",
		kinds.QueueList:       "queue-list",
		kinds.QueueGet:        "queue-get",
		kinds.QueueSet:        "queue-set",
		kinds.ContainerCreate: "container-create",
		kinds.ContainerDelete: "container-delete",
		kinds.ContainerList:   "container-list",
		kinds.ContainerGet:    "container-get",
		kinds.ContainerSet:    "container-set",
		kinds.ContainerLease:  "container-lease",
		kinds.BlobBlocks:      "blob-blocks",
		kinds.BlobProperties:  "blob-properties",
		kinds.BlobSetMetadata: "blob-set-metadata",
		kinds.BlobSetHeaders:  "blob-set-headers",
		kinds.BlobList:        "blob-list",
		kinds.BlobLease:       "blob-lease",
	} {
		if got := kind.String(); got != want {
			t.Errorf("kind %d: got %s, want %s", int(kind), got, want)
		}
	}
}
