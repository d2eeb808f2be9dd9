// Package edm is the codec between Go values and the JSON of the Table service: entities whose properties have EDM types.
//
// A [Plan] is made once for a Go type: which field is which property, and how it is written and read. It encodes any
// subset of the fields and decodes without a map and without a JSON library. No value changes: Int64 past 2^53, whole doubles, NaN and
// infinities, nil apart from absent, empty strings. A value that cannot be stored fails with an error that names the field and
// the limit.
//
// The JSON is that of the service's minimal metadata: Int64, DateTime, Guid, Binary and special doubles carry an
// annotation; a number is a Double if it has a point or an exponent and an Int32 otherwise.
package edm
