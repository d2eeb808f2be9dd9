package tables

import (
	"maps"
	"slices"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// writeEntity writes an entity as an element of a list.
func (c *call) writeEntity(w *odata.Writer, e *entity, table string, selected *selection) {
	c.write(w, e, table, selected, false)
}

// entityJSON returns an entity as the body of a response, with the address of its metadata.
func (c *call) entityJSON(e *entity, table string, selected *selection) []byte {
	var w odata.Writer
	c.write(&w, e, table, selected, true)
	return w.Bytes()
}

func (c *call) write(w *odata.Writer, e *entity, table string, selected *selection, isBody bool) {
	w.Open()
	if c.level != odata.NoMetadata && isBody {
		w.Member("odata.metadata", c.Base+"/$metadata#"+table+"/@Element"+selected.String())
	}
	switch c.level {
	case odata.FullMetadata:
		id := table + formatKeys(e.pk, e.rk)
		w.Member("odata.type", c.Account.Name+"."+table)
		w.Member("odata.id", c.Base+"/"+id)
		w.Member("odata.etag", e.etag)
		w.Member("odata.editLink", id)
	case odata.MinimalMetadata:
		w.Member("odata.etag", e.etag)
	}
	timestampLevel := odata.NoMetadata // the type of the Timestamp is well known
	if c.level == odata.FullMetadata {
		timestampLevel = odata.FullMetadata
	}
	if selected.has("PartitionKey") {
		w.Member("PartitionKey", e.pk)
	}
	if selected.has("RowKey") {
		w.Member("RowKey", e.rk)
	}
	if selected.has("Timestamp") {
		w.Property(odata.Property{Name: "Timestamp", Type: odata.DateTime, Value: e.timestamp}, timestampLevel)
	}
	if selected == nil {
		for _, p := range e.properties {
			w.Property(p, c.level)
		}
		w.Close()
		return
	}
	for _, name := range slices.Sorted(maps.Keys(selected.set)) {
		switch p, ok := e.Property(name); {
		case name == "PartitionKey" || name == "RowKey" || name == "Timestamp": // above
		case ok:
			w.Property(p, c.level)
		default:
			w.Key(name)
			w.WriteString("null")
		}
	}
	w.Close()
}
