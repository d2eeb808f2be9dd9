// Package edm converts between Go values and the JSON of the Table service: entities whose
// properties have EDM types.
//
// A [Codec] is built once for a Go type and describes in which property each field is stored, and
// how. It encodes any subset of the fields, and decodes without a map and without a JSON library.
// Every value is read back unchanged: an Int64 past 2^53, whole doubles, NaN and infinities, empty
// strings, nil and empty slices. A value that cannot be stored fails with an error that names the
// field and the limit.
//
// The JSON follows the service's minimal metadata: Int64, DateTime, Guid, Binary and Double have an
// annotation. A number without an annotation is a Double if it has a decimal point or an exponent,
// and an Int32 otherwise.
package edm
