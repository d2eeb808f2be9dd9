package requests

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is what a request asks for. The kinds are the constants of this package.
type Kind int

// The kinds of requests. Conditional and unconditional writes are different kinds, as the service distinguishes them. The request
// of the SDK's UpdateEntity is a Merge or a Replace, and that of UpsertEntity an InsertOrMerge or an InsertOrReplace.
const (
	Other Kind = iota // all other requests

	Get             // one row by its keys
	Query           // one page of a query
	Insert          // a new row
	Replace         // a row by If-Match, all properties
	Merge           // a row by If-Match, some properties
	InsertOrReplace // a row whether it exists or not, all properties
	InsertOrMerge   // a row whether it exists or not, some properties
	Delete          // a row
	Transaction     // an entity group transaction
	TableCreate
	TableDelete
	TableQuery // one page of the list of tables

	MessagePut
	MessageGet // receives messages and hides them
	MessagePeek
	MessageUpdate
	MessageDelete
	MessageClear // all messages of a queue

	QueueCreate
	QueueDelete
	QueueList // one page of the list of queues
	QueueGet  // the metadata of a queue
	QueueSet  // the metadata of a queue

	ContainerCreate
	ContainerDelete
	ContainerList // one page of the list of containers
	ContainerGet  // the properties and the metadata of a container
	ContainerSet  // the metadata of a container
	ContainerLease

	BlobCreate // or replaces a blob
	BlobAppend // a block to an append blob
	BlobStage  // an uncommitted block of a block blob
	BlobCommit // creates or replaces a block blob by a list of blocks
	BlobBlocks // the lists of the blocks of a block blob
	BlobGet    // the content of a blob, or a range of it
	BlobProperties
	BlobSetMetadata
	BlobSetHeaders
	BlobDelete
	BlobList // one page of the blobs of a container
	BlobLease
)

var names = [...]string{
	Other: "other",

	Get: "get", Query: "query", Insert: "insert", Replace: "replace", Merge: "merge", InsertOrReplace: "insert-or-replace",
	InsertOrMerge: "insert-or-merge", Delete: "delete", Transaction: "transaction",
	TableCreate: "table-create", TableDelete: "table-delete", TableQuery: "table-query",

	MessagePut: "message-put", MessageGet: "message-get", MessagePeek: "message-peek", MessageUpdate: "message-update",
	MessageDelete: "message-delete", MessageClear: "message-clear",

	QueueCreate: "queue-create", QueueDelete: "queue-delete", QueueList: "queue-list", QueueGet: "queue-get", QueueSet: "queue-set",

	ContainerCreate: "container-create", ContainerDelete: "container-delete", ContainerList: "container-list", ContainerGet: "container-get",
	ContainerSet: "container-set", ContainerLease: "container-lease",

	BlobCreate: "blob-create", BlobAppend: "blob-append", BlobStage: "blob-stage", BlobCommit: "blob-commit",
	BlobBlocks: "blob-blocks", BlobGet: "blob-get", BlobProperties: "blob-properties", BlobSetMetadata: "blob-set-metadata",
	BlobSetHeaders: "blob-set-headers", BlobDelete: "blob-delete", BlobList: "blob-list", BlobLease: "blob-lease",
}

// Kinds returns all kinds.
func Kinds() []Kind {
	all := make([]Kind, len(names))
	for i := range names {
		all[i] = Kind(i)
	}
	return all
}

// known reports whether k is one of the constants.
func (k Kind) known() bool { return k >= 0 && int(k) < len(names) }

// String returns the name of the kind, such as "insert-or-replace". The name of a number that is no kind is such as "Kind(99)".
func (k Kind) String() string {
	if !k.known() {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return names[k]
}

// MarshalText returns the name of the kind, so that a kind is its name in JSON. Errors: a number that is no kind.
func (k Kind) MarshalText() ([]byte, error) {
	if !k.known() {
		return nil, fmt.Errorf("requests: %v is no kind of request; use the constants of this package", k)
	}
	return []byte(names[k]), nil
}

// UnmarshalText sets k to the kind with a name. Errors: no kind has the name.
func (k *Kind) UnmarshalText(name []byte) error {
	i := slices.Index(names[:], string(name))
	if i < 0 {
		return fmt.Errorf("requests: no request is of kind %q; the kinds are %s", name, strings.Join(names[:], ", "))
	}
	*k = Kind(i)
	return nil
}
