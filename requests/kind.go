package requests

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/aztablekit/aztablekit/internal/kinds"
)

// Kind is what a request asks for. The kinds of requests for rows are constants. The other kinds
// are texts:
//
//   - other, table-create, table-delete, table-query;
//   - message-put, message-get, message-peek, message-update, message-delete, message-clear;
//   - queue-create, queue-delete, queue-list, queue-get, queue-set;
//   - container-create, container-delete, container-list, container-get, container-set,
//     container-lease;
//   - blob-create, blob-append, blob-stage, blob-commit, blob-blocks, blob-get, blob-properties,
//     blob-set-metadata, blob-set-headers, blob-delete, blob-list, blob-lease.
//
// For example, counts["blob-stage"] is the number of uncommitted blocks of a block blob that were
// sent. A list asks for one page, message-get receives messages, and blob-commit makes a block blob
// of its blocks.
type Kind string

// The kinds of requests for rows. Conditional and unconditional writes are different kinds, as the
// service distinguishes them. The request of the SDK's UpdateEntity is a Merge or a Replace. That
// of UpsertEntity is of kind insert-or-merge or insert-or-replace: it writes a row whether it
// exists or not.
const (
	Get         Kind = "get"         // one row by its keys
	Query       Kind = "query"       // one page of a query
	Insert      Kind = "insert"      // a new row
	Replace     Kind = "replace"     // a row by If-Match, all properties
	Merge       Kind = "merge"       // a row by If-Match, some properties
	Delete      Kind = "delete"      // a row
	Transaction Kind = "transaction" // an entity group transaction
)

// KindOf returns the kind of a request that one of the SDK's clients sends to the Table service, to
// the Blob service, or for a message of a queue. The kind of all other requests is other, also of
// requests to clear, create, read or delete a queue, because their URLs may also name a blob.
// Package storagetest recognizes these requests, too.
//
// A request for a blob shows its service in its host name or in the SDK's User-Agent. Without both,
// as with an IP address and disabled telemetry, its kind is other.
func KindOf(r *http.Request) Kind {
	if r == nil || r.URL == nil {
		return kinds.Other
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
		return kinds.TableCreate
	case name == "Tables" && r.Method == http.MethodDelete:
		return kinds.TableDelete
	case name == "Tables":
		return kinds.TableQuery
	//lint:ignore SA1008 the SDK sets the header in this spelling, which is not Go's canonical one
	case len(r.Header["DataServiceVersion"]) == 0:
		return kinds.Other
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
		return kinds.InsertOrReplace
	case (r.Method == http.MethodPatch || r.Method == "MERGE") && conditional:
		return Merge
	case r.Method == http.MethodPatch || r.Method == "MERGE":
		return kinds.InsertOrMerge
	}
	return kinds.Other
}

// messageKind is KindOf for messages of queues. A GET without parameters is other, since the same
// URL may name a blob.
func messageKind(r *http.Request, path string) Kind {
	q := r.URL.Query()
	if q.Has("comp") || q.Has("restype") {
		return kinds.Other
	}
	all, one := strings.HasSuffix(path, "/messages"), strings.Contains(path, "/messages/") && q.Has("popreceipt")
	switch {
	case all && r.Method == http.MethodPost:
		return kinds.MessagePut
	case all && r.Method == http.MethodGet && q.Get("peekonly") == "true":
		return kinds.MessagePeek
	case all && r.Method == http.MethodGet && (q.Has("numofmessages") || q.Has("visibilitytimeout")):
		return kinds.MessageGet
	case one && r.Method == http.MethodPut:
		return kinds.MessageUpdate
	case one && r.Method == http.MethodDelete:
		return kinds.MessageDelete
	}
	return kinds.Other
}

// isForBlobs reports whether a request is for the Blob service, by its host name or by the name of
// the SDK in its header. The URL alone does not show it if it has an IP address or a domain of the
// account's own.
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
		return kinds.Other
	case q.Get("restype") == "container":
		return orOther(containerKinds[operation])
	case q.Has("restype"):
		return kinds.Other
	case operation == "GET" && r.Method == http.MethodHead:
		return kinds.BlobProperties
	}
	return orOther(blobKinds[operation])
}

// orOther returns a kind that was looked up, or other if it was not found.
func orOther(kind Kind) Kind { return cmp.Or(kind, kinds.Other) }

var containerKinds = map[string]Kind{
	"PUT": kinds.ContainerCreate, "DELETE": kinds.ContainerDelete, "GET": kinds.ContainerGet,
	"GET metadata": kinds.ContainerGet, "PUT metadata": kinds.ContainerSet, "PUT lease": kinds.ContainerLease, "GET list": kinds.BlobList,
}

var blobKinds = map[string]Kind{
	"GET list": kinds.ContainerList, "PUT": kinds.BlobCreate, "PUT copy": kinds.BlobCreate,
	"PUT appendblock": kinds.BlobAppend, "PUT block": kinds.BlobStage, "PUT blocklist": kinds.BlobCommit,
	"GET blocklist": kinds.BlobBlocks, "GET": kinds.BlobGet, "GET metadata": kinds.BlobProperties,
	"PUT metadata": kinds.BlobSetMetadata, "PUT properties": kinds.BlobSetHeaders, "DELETE": kinds.BlobDelete, "PUT lease": kinds.BlobLease,
}
