package edm

// Body is an entity that can be sent: its keys and properties, within the limits of the service. It is encoded once, when it is
// made.
type Body struct {
	PartitionKey, RowKey string

	// Length is the number of bytes of the JSON in a transaction, at most. The SDK escapes there what HTML may take for its own; the
	// library does not.
	Length int

	json    []byte // without the closing brace, which is behind its end; nil if it is to be made of the columns
	keysEnd int32  // where the keys end in it
	kept    bool   // the columns are kept
	own     *Plan  // see Stored
	columns []Column
}

// Columns returns the properties.
func (e *Body) Columns() []Column {
	if e.kept || e.json == nil {
		return e.columns
	}
	r := NewReader(e.JSON(nil))
	_, err := r.One()
	columns, cerr := r.Columns()
	if err != nil || cerr != nil {
		panic("edm: a body that was encoded cannot be decoded") // FuzzReader shows that it can
	}
	return columns
}

// Append appends the JSON of the entity to b, with one more property behind its own if end is not nil.
func (e *Body) Append(b []byte, end *Ending) []byte {
	if e.json != nil {
		b = append(b, e.json...)
	} else {
		b = appendKeys(b, e.PartitionKey, e.RowKey)
		for i := range e.columns {
			b = e.columns[i].append(b)
		}
	}
	if end != nil {
		return append(b, end.text...)
	}
	return append(b, '}')
}

// Parts returns what Append appends, in two parts. The caller must not change them.
func (e *Body) Parts(end *Ending) (json []byte, rest string) {
	if e.json == nil || end == nil {
		return e.JSON(end), ""
	}
	return e.json, end.text
}

// JSON returns what Append appends. The caller must not change it.
func (e *Body) JSON(end *Ending) []byte {
	if e.json != nil && end == nil {
		n := len(e.json) + 1
		return e.json[:n:n]
	}
	room := e.Length
	if end != nil {
		room += len(end.text)
	}
	return e.Append(make([]byte, 0, room), end)
}

// WithColumns returns the entity with other columns of about the same length.
func (e Body) WithColumns(columns []Column) Body {
	e.json, e.kept, e.columns, e.own = nil, true, columns, nil
	return e
}

// Stored returns what is stored once the entity is sent, with the operation ID as its end, or without one.
func (e *Body) Stored(end *Ending) Stored {
	switch {
	case e.kept && end == nil:
		return Stored{Columns: append(make([]Column, 0, len(e.columns)), e.columns...)}
	case e.kept:
		return Stored{Columns: append(append(make([]Column, 0, len(e.columns)+1), e.columns...), end.Column)}
	case e.json == nil:
		return Stored{JSON: JSON{response: e.JSON(end)}}
	case end == nil:
		return Stored{JSON: JSON{response: e.JSON(nil)}, own: e.own}
	}
	return Stored{JSON: JSON{response: e.JSON(nil), text: end.member()}, own: e.own}
}

// WithKeys returns the entity under other keys.
func (e Body) WithKeys(partitionKey, rowKey string) Body {
	json := appendKeys(make([]byte, 0, len(e.json)+len(partitionKey)+len(rowKey)), partitionKey, rowKey)
	keysEnd := len(json)
	e.Length += keysEnd - int(e.keysEnd) + surplus(partitionKey) + surplus(rowKey) - surplus(e.PartitionKey) - surplus(e.RowKey)
	if e.json != nil {
		json = append(json, e.JSON(nil)[e.keysEnd:]...)
		e.json = json[:len(json)-1]
	}
	e.keysEnd = int32(keysEnd)
	e.PartitionKey, e.RowKey = partitionKey, rowKey
	return e
}

func appendKeys(b []byte, partitionKey, rowKey string) []byte {
	b = appendString(append(b, `{"`+PartitionKey+`":`...), partitionKey)
	return appendString(append(b, `,"`+RowKey+`":`...), rowKey)
}
