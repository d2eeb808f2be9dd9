package odata_test

import (
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// row is a row whose properties are in a map.
type row map[string]odata.Property

func (r row) Property(name string) (odata.Property, bool) {
	p, ok := r[name]
	return p, ok
}

func newRow(key string) row {
	r := row{}
	for _, p := range []odata.Property{
		{Name: "PartitionKey", Type: odata.String, Value: key}, {Name: "RowKey", Type: odata.String, Value: key},
		{Name: "Timestamp", Type: odata.DateTime, Value: time.Unix(0, 0)},
		{Name: "S", Type: odata.String, Value: key}, {Name: "I", Type: odata.Int32, Value: int32(5)}, {Name: "D", Type: odata.Double, Value: 5.0}, {Name: "B", Type: odata.Boolean, Value: true},
	} {
		r[p.Name] = p
	}
	return r
}

// FuzzFilter: no text crashes the parser, and the key ranges of a filter contain the keys of every row that the filter matches.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{"S eq 'a'", "not (I gt 5L) or D le 1.5e3", "T ge datetime'2012-11-10T03:04:05Z' and X eq X'00'", "G ne guid'debc44d5-04a9-42ea-ab2f-4e2cb49ff833'", "'a' eq PartitionKey and RowKey lt '~'", "B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filter, failure := odata.ParseFilter(text)
		if failure != nil {
			return
		}
		for _, key := range []string{"", "a", "p", "~", "é", "\U0001F600"} {
			if !filter.Matches(newRow(key)) {
				continue
			}
			for _, name := range []string{"PartitionKey", "RowKey"} {
				if r := filter.KeyRange(name); !r.Contains(key) {
					t.Fatalf("filter %q matches key %q, and its range of %s is %+v", text, key, name, r)
				}
			}
		}
	})
}
