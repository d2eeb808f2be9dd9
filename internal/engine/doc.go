// Package engine reads and writes the rows of a table, without a Go type parameter: package table puts the types around it.
//
// A [Table] is a handle, and a [Mode] says what one handle of a table does otherwise than another. An [Op] is one write as data: the
// columns that are written, the condition, and the [Target] that is told what becomes of it. [Commit] applies operations as one
// transaction, and [Bulk] a stream of operations as many transactions. A [Plan] is a transaction while maintainers add derived rows to
// it. [List] reads the pages of a [Query].
//
// Errors are those of this package and of package edm. Package table turns them into its own.
package engine
