// Package kinds names kinds of requests that only package storagetest and tests tell apart.
package kinds

import "github.com/aztablekit/aztablekit/requests"

// The kinds, by their names in texts, such as queue-create.
const (
	MessagePeek     requests.Kind = 15
	MessageClear    requests.Kind = 18
	QueueCreate     requests.Kind = 19
	QueueDelete     requests.Kind = 20
	QueueList       requests.Kind = 21
	QueueGet        requests.Kind = 22
	QueueSet        requests.Kind = 23
	ContainerCreate requests.Kind = 24
	ContainerDelete requests.Kind = 25
	ContainerList   requests.Kind = 26
	ContainerGet    requests.Kind = 27
	ContainerSet    requests.Kind = 28
	ContainerLease  requests.Kind = 29
	BlobBlocks      requests.Kind = 34
	BlobProperties  requests.Kind = 36
	BlobSetMetadata requests.Kind = 37
	BlobSetHeaders  requests.Kind = 38
	BlobList        requests.Kind = 40
	BlobLease       requests.Kind = 41
)
