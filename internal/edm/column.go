package edm

// Column is the name and the value of a property.
type Column struct {
	Name  string
	Value Value
	Part  uint8 // of a wide entity: the number of the part in which the property is stored, 0 for the head
}

// Same reports whether two columns have the same name and the same value, in whatever part.
func (c Column) Same(d Column) bool {
	return c.Name == d.Name && Same(c.Value, d.Value)
}
