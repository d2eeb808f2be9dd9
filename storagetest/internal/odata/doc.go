// Package odata reads and writes the subset of OData that the Table service speaks: typed values,
// JSON entities, filters, metadata levels, quoted literals and multipart batches. The package knows
// no tables and holds no state.
package odata
