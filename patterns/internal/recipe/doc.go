// Package recipe tells the story of a pattern: steps with their requests, and the rows that are
// stored then. A recipe stands in the package that a user keeps, in its file recipe.go; a copy of
// the package leaves that file out.
package recipe
