package host

import "github.com/aztablekit/aztablekit/table"

// Declarations is set by package extend, before any function of this file is called. d is an
// *extend.Declaration.
var Declarations interface {
	Begin(d any, h *Host, t table.Handle)
	Host(d any) *Host
	Attach(d any, f func(table.Handle) (table.Handle, error)) error
	Needs(d any, f func(table.Handle) (Parts, error)) error
	Declared(d any) (t table.Handle, all []Parts, err error)
}

// Begin makes a zero extend.Declaration one of a table that has no definitions yet. t has the
// outbox of the store.
func Begin(d any, h *Host, t table.Handle) { Declarations.Begin(d, h, t) }

// OfDeclaration returns the store in which a table is declared.
func OfDeclaration(d any) *Host { return Declarations.Host(d) }

// Attach changes the handle of a declaration: f returns the handle with what the definition does in
// writes. The handle that f gets has the outbox of the store, and the definitions before this one.
// Errors: that of f; *table.ValueError for a nil or zero declaration.
func Attach(d any, f func(t table.Handle) (table.Handle, error)) error {
	return Declarations.Attach(d, f)
}

// Needs adds what a definition needs besides. f gets the handle with all definitions, which
// programs get. Errors: *table.ValueError for a nil declaration.
func Needs(d any, f func(t table.Handle) (Parts, error)) error { return Declarations.Needs(d, f) }

// Declared returns the handle with all definitions, and what these need, after each of them.
// Errors: that of a function of Needs, with the name of its definition.
func Declared(d any) (table.Handle, []Parts, error) { return Declarations.Declared(d) }
