package tables

import (
	"net/http"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
)

// Describe implements protocol.Call.
func (c *call) Describe(withBody bool) protocol.Description {
	a, f := c.address()
	d := protocol.Description{Kind: c.kind(a, f), Table: a.resource, PartitionKey: a.pk, RowKey: a.rk}
	if !withBody || c.inTransaction && d.Kind == requests.Transaction {
		return d
	}
	switch d.Kind {
	case requests.TableCreate, requests.TableDelete, requests.TableQuery:
		d.Table = a.tableName
		if d.Kind == requests.TableCreate {
			if members, ok := odata.ParseObject(c.Body); ok && len(members) == 1 {
				d.Table, _ = members[0].Value.(string)
			}
		}
	case requests.Insert:
		if a, f := c.entityAddress(); f == nil {
			d.PartitionKey, d.RowKey = a.pk, a.rk
		}
	case requests.Query:
		if filter, f := odata.ParseFilter(c.Query.Get("$filter")); f == nil {
			if keys := filter.KeyRange("PartitionKey"); keys.Single() {
				d.PartitionKey = keys.From
			}
			if keys := filter.KeyRange("RowKey"); keys.Single() {
				d.RowKey = keys.From
			}
		}
	case requests.Transaction:
		d.Table = ""
		if f := c.parseOperations(); f == nil {
			d.Operations = make([]protocol.Description, 0, len(c.operations))
			for _, op := range c.operations {
				d.Operations = append(d.Operations, op.Describe(true))
			}
			if len(c.operations) > 0 {
				d.Table = d.Operations[0].Table
			}
		}
	}
	return d
}

// kind returns the kind of the request.
func (c *call) kind(a address, f *odata.Failure) requests.Kind {
	conditional := c.Get("If-Match") != ""
	switch {
	case f != nil || settings.IsPreflight(c.Request) || a.resource == "" || c.Query.Has("comp") || c.Query.Has("restype"):
		return requests.Other
	case a.resource == batchResource:
		return requests.Transaction
	case a.resource == tablesResource:
		switch c.Method {
		case http.MethodPost:
			return requests.TableCreate
		case http.MethodDelete:
			return requests.TableDelete
		}
		return requests.TableQuery
	}
	switch c.Method {
	case http.MethodGet:
		if a.isEntity {
			return requests.Get
		}
		return requests.Query
	case http.MethodPost:
		return requests.Insert
	case http.MethodDelete:
		return requests.Delete
	case http.MethodPut:
		if conditional {
			return requests.Replace
		}
		return requests.InsertOrReplace
	case http.MethodPatch, "MERGE":
		if conditional {
			return requests.Merge
		}
		return requests.InsertOrMerge
	}
	return requests.Other
}
