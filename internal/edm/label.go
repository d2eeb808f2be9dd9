package edm

// label is the name of a property, and what is encoded of it once for all entities.
type label struct {
	name  string
	json  []byte // in front of a value of the kind; nil if it is not encoded
	kind  Kind
	units int
}

func newLabel(name string, k Kind) label {
	return label{name, appendName(nil, name, k), k, utf16Units(name)}
}
