package tables

import (
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// writeEntity writes an entity as an element of a list.
func (c *call) writeEntity(w *odata.Writer, e *entity, table string, selected []string) {
	c.write(w, e, table, selected, false)
}

// entityJSON returns an entity as the body of a response, with the address of its metadata.
func (c *call) entityJSON(e *entity, table string, selected []string) []byte {
	var w odata.Writer
	c.write(&w, e, table, selected, true)
	return w.Bytes()
}

func (c *call) write(w *odata.Writer, e *entity, table string, selected []string, isBody bool) {
	w.Open()
	if c.level != odata.NoMetadata && isBody {
		w.Member("odata.metadata", c.Base+"/$metadata#"+table+"/@Element"+formatSelection(selected))
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
	all := selected == nil
	if all || slices.Contains(selected, "PartitionKey") {
		w.Member("PartitionKey", e.pk)
	}
	if all || slices.Contains(selected, "RowKey") {
		w.Member("RowKey", e.rk)
	}
	if all || slices.Contains(selected, "Timestamp") {
		w.Property(odata.Property{Name: "Timestamp", Type: odata.DateTime, Value: e.timestamp}, timestampLevel)
	}
	for _, p := range e.properties {
		if all || slices.Contains(selected, p.Name) {
			w.Property(p, c.level)
		}
	}
	for i, name := range selected {
		if _, ok := e.Property(name); !ok && !slices.Contains(selected[:i], name) {
			w.Key(name)
			w.WriteString("null")
		}
	}
	w.Close()
}

// formatSelection returns the part of a metadata address that names the selected properties.
func formatSelection(names []string) string {
	if names == nil {
		return ""
	}
	return "&$select=" + strings.Join(names, ",")
}
