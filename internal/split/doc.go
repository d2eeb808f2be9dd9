// Package split finds the middle of what is left of a table, for work that several share: by the
// order of keys and some probes, without a count of rows.
package split
