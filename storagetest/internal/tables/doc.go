// Package tables is the Table service of an account: its tables and entities in memory, and the
// requests to them.
package tables
