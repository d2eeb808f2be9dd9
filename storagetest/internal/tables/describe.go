package tables

import (
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// The kinds of requests.
const (
	kindInsert          = "insert"
	kindReplace         = "replace"
	kindMerge           = "merge"
	kindInsertOrReplace = "insert-or-replace"
	kindInsertOrMerge   = "insert-or-merge"
	kindDelete          = "delete"
	kindGet             = "get"
	kindQuery           = "query"
	KindTransaction     = "transaction"
	kindTableCreate     = "table-create"
	kindTableDelete     = "table-delete"
	kindTableQuery      = "table-query"
)

// Kinds returns the kinds of the service's requests.
func Kinds() []string {
	return []string{
		kindInsert, kindReplace, kindMerge, kindInsertOrReplace, kindInsertOrMerge, kindDelete, kindGet, kindQuery, KindTransaction,
		kindTableCreate, kindTableDelete, kindTableQuery,
	}
}

// Describe implements protocol.Call.
func (c *call) Describe(withBody bool) protocol.Description {
	a, f := parseAddress(c.Path)
	d := protocol.Description{Kind: c.kind(a, f), Table: a.resource, PartitionKey: a.pk, RowKey: a.rk}
	if !withBody {
		return d
	}
	switch d.Kind {
	case kindTableCreate, kindTableDelete, kindTableQuery:
		d.Table = a.tableName
		if d.Kind == kindTableCreate {
			if members, ok := odata.ParseObject(c.Body); ok && len(members) == 1 {
				d.Table, _ = members[0].Value.(string)
			}
		}
	case kindInsert:
		if a, f := c.entityAddress(); f == nil {
			d.PartitionKey, d.RowKey = a.pk, a.rk
		}
	case kindQuery:
		if filter, f := odata.ParseFilter(c.Query.Get("$filter")); f == nil {
			if keys := filter.KeyRange("PartitionKey"); keys.Single() {
				d.PartitionKey = keys.From
			}
			if keys := filter.KeyRange("RowKey"); keys.Single() {
				d.RowKey = keys.From
			}
		}
	case KindTransaction:
		d.Table = ""
		if f := c.parseOperations(); f == nil {
			for _, op := range c.operations {
				d.Operations = append(d.Operations, op.Describe(true))
			}
			if c.operations != nil {
				d.Table = d.Operations[0].Table
			}
		}
	}
	return d
}

// kind returns the kind of the request.
func (c *call) kind(a address, f *odata.Failure) string {
	conditional := c.Header.Get("If-Match") != ""
	switch {
	case f != nil || a.resource == "" || c.Query.Has("comp") || c.Query.Has("restype"):
		return protocol.KindOther
	case a.resource == batchResource:
		return KindTransaction
	case a.resource == tablesResource:
		switch c.Method {
		case http.MethodPost:
			return kindTableCreate
		case http.MethodDelete:
			return kindTableDelete
		}
		return kindTableQuery
	}
	switch c.Method {
	case http.MethodGet:
		if a.isEntity {
			return kindGet
		}
		return kindQuery
	case http.MethodPost:
		return kindInsert
	case http.MethodDelete:
		return kindDelete
	case http.MethodPut:
		if conditional {
			return kindReplace
		}
		return kindInsertOrReplace
	case http.MethodPatch, "MERGE":
		if conditional {
			return kindMerge
		}
		return kindInsertOrMerge
	}
	return protocol.KindOther
}
