// Package bare makes the parts of a store: handles of tables, and the maintainers and handlers of effects. It is for stores, for logs and archives,
// whose rows have no definitions, and for tests. A handle without a store knows nothing of the catalogue of its table: it keeps its own
// definitions, and looks up by them at any time.
package bare
