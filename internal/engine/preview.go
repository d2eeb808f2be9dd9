package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
)

// lookAhead is called before a plan loads a row that is not known.
type lookAhead func(ctx context.Context, row keys.Key) error

// preview is of a plan that is made only to learn which rows it loads: it collects them, without reading them.
type preview struct{ rows []keys.Key }

var errPreview = errors.New("the row is not known in a preview")

// loads notes a row that the plan loads.
func (t *preview) loads(row keys.Key) {
	if !slices.Contains(t.rows, row) {
		t.rows = append(t.rows, row)
	}
}

const previewID = "0000000000000000"

// newID returns the function that makes IDs: in a preview, whose IDs are not stored, they are all the same.
func (t *preview) newID(otherwise func() string) func() string {
	if t == nil {
		return otherwise
	}
	return func() string { return previewID }
}
