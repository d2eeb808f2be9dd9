package edm

// NewCopyWriter begins an entity with its keys, and with room for these columns, most of which were encoded. They will hardly be asked
// for: then they are decoded. Columns with large values are kept, so that these are not copied.
func NewCopyWriter(partitionKey, rowKey string, columns []Column) *Writer {
	hint := 0
	for i := range columns {
		c := &columns[i]
		value := len(c.Value.S) + len(c.Value.B)
		if value > largeValue {
			return NewWriter(partitionKey, rowKey, len(columns)+1)
		}
		if hint += len(c.json); c.json == nil {
			hint += len(c.Name) + value + 64
		}
	}
	w := new(Writer).start(partitionKey, rowKey)
	w.hint = hint
	return w
}
