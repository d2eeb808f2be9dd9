// Package kinds has the texts of the kinds of requests.
package kinds

// The kinds that are no constants of package requests.
const (
	Other = "other" // all other requests

	InsertOrReplace = "insert-or-replace"
	InsertOrMerge   = "insert-or-merge"

	TableCreate = "table-create"
	TableDelete = "table-delete"
	TableQuery  = "table-query" // one page of the list of tables

	MessagePut    = "message-put"
	MessageGet    = "message-get" // receives messages and hides them
	MessagePeek   = "message-peek"
	MessageUpdate = "message-update"
	MessageDelete = "message-delete"
	MessageClear  = "message-clear" // all messages of a queue

	QueueCreate = "queue-create"
	QueueDelete = "queue-delete"
	QueueList   = "queue-list" // one page of the list of queues
	QueueGet    = "queue-get"  // the metadata of a queue
	QueueSet    = "queue-set"  // the metadata of a queue

	ContainerCreate = "container-create"
	ContainerDelete = "container-delete"
	ContainerList   = "container-list" // one page of the list of containers
	ContainerGet    = "container-get"  // the properties and the metadata of a container
	ContainerSet    = "container-set"  // the metadata of a container
	ContainerLease  = "container-lease"

	BlobCreate      = "blob-create" // or replaces a blob, also by a copy
	BlobAppend      = "blob-append" // a block to an append blob
	BlobStage       = "blob-stage"  // an uncommitted block of a block blob
	BlobCommit      = "blob-commit" // creates or replaces a block blob by a list of blocks
	BlobBlocks      = "blob-blocks" // the lists of the blocks of a block blob
	BlobGet         = "blob-get"    // the content of a blob, or a range of it
	BlobProperties  = "blob-properties"
	BlobSetMetadata = "blob-set-metadata"
	BlobSetHeaders  = "blob-set-headers"
	BlobDelete      = "blob-delete"
	BlobList        = "blob-list" // one page of the blobs of a container
	BlobLease       = "blob-lease"
)

// All returns all kinds, also the constants of package requests.
func All() []string {
	return []string{
		Other, "get", "query", "insert", "replace", "merge", InsertOrReplace, InsertOrMerge, "delete", "transaction",
		TableCreate, TableDelete, TableQuery,
		MessagePut, MessageGet, MessagePeek, MessageUpdate, MessageDelete, MessageClear,
		QueueCreate, QueueDelete, QueueList, QueueGet, QueueSet,
		ContainerCreate, ContainerDelete, ContainerList, ContainerGet, ContainerSet, ContainerLease,
		BlobCreate, BlobAppend, BlobStage, BlobCommit, BlobBlocks, BlobGet, BlobProperties, BlobSetMetadata, BlobSetHeaders,
		BlobDelete, BlobList, BlobLease,
	}
}
