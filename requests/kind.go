package requests

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Kind is what a request asks for. The kinds are the constants of this package, and kinds with a name only, such as queue-create:
// [Kinds] has them all.
type Kind int

// The kinds of requests. Conditional and unconditional writes are different kinds, as the service distinguishes them. The request
// of the SDK's UpdateEntity is a Merge or a Replace, and the request of UpsertEntity an InsertOrMerge or an InsertOrReplace.
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
	messagePeek
	MessageUpdate
	MessageDelete
	messageClear // all messages of a queue

	queueCreate
	queueDelete
	queueList // one page of the list of queues
	queueGet  // the metadata of a queue
	queueSet  // the metadata of a queue

	containerCreate
	containerDelete
	containerList // one page of the list of containers
	containerGet  // the properties and the metadata of a container
	containerSet  // the metadata of a container
	containerLease

	BlobCreate // or replaces a blob, also by a copy
	BlobAppend // a block to an append blob
	BlobStage  // an uncommitted block of a block blob
	BlobCommit // creates or replaces a block blob by a list of blocks
	blobBlocks // the lists of the blocks of a block blob
	BlobGet    // the content of a blob, or a range of it
	blobProperties
	blobSetMetadata
	blobSetHeaders
	BlobDelete
	blobList // one page of the blobs of a container
	blobLease
)

var names = [...]string{
	Other: "other",

	Get: "get", Query: "query", Insert: "insert", Replace: "replace", Merge: "merge", InsertOrReplace: "insert-or-replace",
	InsertOrMerge: "insert-or-merge", Delete: "delete", Transaction: "transaction",
	TableCreate: "table-create", TableDelete: "table-delete", TableQuery: "table-query",

	MessagePut: "message-put", MessageGet: "message-get", messagePeek: "message-peek", MessageUpdate: "message-update",
	MessageDelete: "message-delete", messageClear: "message-clear",

	queueCreate: "queue-create", queueDelete: "queue-delete", queueList: "queue-list", queueGet: "queue-get", queueSet: "queue-set",

	containerCreate: "container-create", containerDelete: "container-delete", containerList: "container-list", containerGet: "container-get",
	containerSet: "container-set", containerLease: "container-lease",

	BlobCreate: "blob-create", BlobAppend: "blob-append", BlobStage: "blob-stage", BlobCommit: "blob-commit",
	blobBlocks: "blob-blocks", BlobGet: "blob-get", blobProperties: "blob-properties", blobSetMetadata: "blob-set-metadata",
	blobSetHeaders: "blob-set-headers", BlobDelete: "blob-delete", blobList: "blob-list", blobLease: "blob-lease",
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

// MarshalText returns the name of the kind, so that a kind is its name in JSON. It returns an error without a type for a number
// that is no kind.
func (k Kind) MarshalText() ([]byte, error) {
	if !k.known() {
		return nil, fmt.Errorf("requests: %v is no kind of request; use the constants of this package", k)
	}
	return []byte(names[k]), nil
}

// UnmarshalText sets k to the kind with a name. It returns an error without a type if no kind has the name.
func (k *Kind) UnmarshalText(name []byte) error {
	i := slices.Index(names[:], string(name))
	if i < 0 {
		return fmt.Errorf("requests: no request is of kind %q; the kinds are %s", name, strings.Join(names[:], ", "))
	}
	*k = Kind(i)
	return nil
}

// KindOf returns the kind of a request that one of the SDK's clients sends to the Table service, to the Blob service, or for a
// message of a queue. The kind of all other requests is [Other], also of requests to clear, create, read or delete a queue, because
// their URLs may also name a blob. Package storagetest recognizes these requests, too.
//
// A request for a blob shows its service in its host name or in the SDK's User-Agent. Without both, as with an IP address and
// disabled telemetry, its kind is Other.
func KindOf(r *http.Request) Kind {
	if r == nil || r.URL == nil {
		return Other
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	// The last segment names the resource; keys contain no slash.
	last := path[strings.LastIndexByte(path, '/')+1:]
	name, args, keyed := strings.Cut(last, "(")
	conditional := len(r.Header["If-Match"]) > 0
	// A blob may have any name, but is never requested as JSON.
	switch {
	case strings.Contains(r.Header.Get("Accept"), "json"):
	case isForBlobs(r):
		return blobKind(r)
	default:
		return messageKind(r, path)
	}
	switch {
	case name == "$batch":
		return Transaction
	case name == "Tables" && r.Method == http.MethodPost:
		return TableCreate
	case name == "Tables" && r.Method == http.MethodDelete:
		return TableDelete
	case name == "Tables":
		return TableQuery
	//lint:ignore SA1008 the SDK sets the header in this spelling, which is not Go's canonical one
	case len(r.Header["DataServiceVersion"]) == 0:
		return Other
	case r.Method == http.MethodGet && keyed && args != ")":
		return Get
	case r.Method == http.MethodGet:
		return Query
	case r.Method == http.MethodPost:
		return Insert
	case r.Method == http.MethodDelete:
		return Delete
	case r.Method == http.MethodPut && conditional:
		return Replace
	case r.Method == http.MethodPut:
		return InsertOrReplace
	case (r.Method == http.MethodPatch || r.Method == "MERGE") && conditional:
		return Merge
	case r.Method == http.MethodPatch || r.Method == "MERGE":
		return InsertOrMerge
	}
	return Other
}

// messageKind is KindOf for messages of queues. A GET without parameters is Other, since the same URL may name a blob.
func messageKind(r *http.Request, path string) Kind {
	q := r.URL.Query()
	if q.Has("comp") || q.Has("restype") {
		return Other
	}
	all, one := strings.HasSuffix(path, "/messages"), strings.Contains(path, "/messages/") && q.Has("popreceipt")
	switch {
	case all && r.Method == http.MethodPost:
		return MessagePut
	case all && r.Method == http.MethodGet && q.Get("peekonly") == "true":
		return messagePeek
	case all && r.Method == http.MethodGet && (q.Has("numofmessages") || q.Has("visibilitytimeout")):
		return MessageGet
	case one && r.Method == http.MethodPut:
		return MessageUpdate
	case one && r.Method == http.MethodDelete:
		return MessageDelete
	}
	return Other
}

// isForBlobs reports whether a request is for the Blob service, by its host name or by the name of the SDK in its header. The URL
// alone does not show it if it has an IP address or a domain of the account's own.
func isForBlobs(r *http.Request) bool {
	host := r.URL.Hostname()
	for _, service := range []string{"blob", "queue", "table"} {
		if strings.Contains(host, "."+service+".") {
			return service == "blob"
		}
	}
	return strings.Contains(r.Header.Get("User-Agent"), "azsdk-go-azblob/")
}

// blobKind is KindOf for the Blob service.
func blobKind(r *http.Request) Kind {
	q := r.URL.Query()
	operation := r.Method
	if r.Method == http.MethodHead {
		operation = http.MethodGet
	}
	if q.Has("comp") {
		operation += " " + q.Get("comp")
	}
	switch {
	case q.Has("snapshot") || q.Has("versionid"):
		return Other
	case q.Get("restype") == "container":
		return containerKinds[operation]
	case q.Has("restype"):
		return Other
	case operation == "GET" && r.Method == http.MethodHead:
		return blobProperties
	}
	return blobKinds[operation]
}

var containerKinds = map[string]Kind{
	"PUT": containerCreate, "DELETE": containerDelete, "GET": containerGet, "GET metadata": containerGet, "PUT metadata": containerSet,
	"PUT lease": containerLease, "GET list": blobList,
}

var blobKinds = map[string]Kind{
	"GET list": containerList, "PUT": BlobCreate, "PUT copy": BlobCreate, "PUT appendblock": BlobAppend,
	"PUT block": BlobStage, "PUT blocklist": BlobCommit, "GET blocklist": blobBlocks, "GET": BlobGet, "GET metadata": blobProperties,
	"PUT metadata": blobSetMetadata, "PUT properties": blobSetHeaders, "DELETE": BlobDelete, "PUT lease": blobLease,
}
