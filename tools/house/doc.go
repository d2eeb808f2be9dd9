// Package house tests the rules of the house: imports, names, comments, words, links, and programs
// in the documentation. See CONTRIBUTING.md.
package house
