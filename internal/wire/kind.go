package wire

import (
	"net/http"
	"strings"
)

// The kinds of requests that Kind tells apart.
const (
	Get             = "get"
	Query           = "query"
	Insert          = "insert"
	Replace         = "replace"
	Merge           = "merge"
	InsertOrReplace = "insert-or-replace"
	InsertOrMerge   = "insert-or-merge"
	Delete          = "delete"
	Transaction     = "transaction"
	TableCreate     = "table-create"
	TableDelete     = "table-delete"
	TableQuery      = "table-query"
	Other           = "other"
)

// Kind tells what a request asks for. Requests that are not the Table service's are Other.
func Kind(r *http.Request) string {
	path := strings.TrimSuffix(r.URL.Path, "/")
	// The last segment names what is addressed; keys hold no slash.
	last := path[strings.LastIndexByte(path, '/')+1:]
	name, args, keyed := strings.Cut(last, "(")
	conditional := len(r.Header["If-Match"]) > 0
	// Blobs may have any name, but nobody asks for them as JSON.
	if !strings.Contains(r.Header.Get("Accept"), "json") {
		return Other
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
