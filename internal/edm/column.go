package edm

// Column is the name and the value of a property. A column is never changed, but replaced.
type Column struct {
	Name  string
	Value Value
	Part  uint8 // of a wide entity: the number of the part in which the property is stored, 0 for the head

	json    []byte // as it is sent, nil if it was not encoded
	size    int32  // by the service's formula, of an encoded column
	surplus int32  // of bytes of the JSON in a transaction, of an encoded column
}

// Same reports whether two columns have the same name and the same value, in whatever part.
func (c Column) Same(d Column) bool {
	return c.Name == d.Name && Same(c.Value, d.Value)
}

// Ending is a property that is encoded once, and appended to several entities.
type Ending struct {
	Column Column
	text   string // with the brace behind it
}

// Ending returns the property as an Ending.
func (c Column) Ending() *Ending {
	return &Ending{c, string(append(c.append(make([]byte, 0, 64)), '}'))}
}

// member returns the property without the brace.
func (e *Ending) member() string { return e.text[:len(e.text)-1] }

func (c *Column) append(b []byte) []byte {
	if c.json != nil {
		return append(b, c.json...)
	}
	return appendJSON(appendName(b, c.Name, c.Value.Kind), &c.Value)
}
