package requests

import (
	"net/http"
	"strings"
)

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
		return MessagePeek
	case all && r.Method == http.MethodGet && (q.Has("numofmessages") || q.Has("visibilitytimeout")):
		return MessageGet
	case one && r.Method == http.MethodPut:
		return MessageUpdate
	case one && r.Method == http.MethodDelete:
		return MessageDelete
	}
	return Other
}
