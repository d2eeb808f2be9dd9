package edm

// Column is the name and the value of a property.
type Column struct {
	Name  string
	Value Value
}

// Same reports whether two columns have the same name and the same value.
func (c Column) Same(d Column) bool {
	return c.Name == d.Name && Same(c.Value, d.Value)
}
