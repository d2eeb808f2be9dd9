package index

import (
	"context"
	"slices"
)

// repairing is what a context says of the writes that Verify makes.
type repairMode struct {
	anew   []string // definitions whose rows are made anew, also where nothing has changed
	owners bool     // unique rows are looked at before they are kept, for they may be others' by now
	counts []string // summaries that are counted anew afterwards

	yields string          // a definition that gives rows up, and takes none
	absent map[string]bool // rows that the entity should have, and that were not there when both were seen

	verified map[string]bool // definitions whose rows have been read
	foreign  map[string]bool // rows that were there and belong to somebody else
}

type repairModeKey struct{}

// context is that of Verify's writes.
func (r repairMode) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, repairModeKey{}, r)
}

// repairs is what a context says; is tells whether the write is Verify's.
func repairModeOf(ctx context.Context) (r repairMode, is bool) {
	r, is = ctx.Value(repairModeKey{}).(repairMode)
	return r, is
}

// forced tells whether a definition's rows are made anew.
func mustRewrite(ctx context.Context, definition string) bool {
	r, _ := repairModeOf(ctx)
	return slices.Contains(r.anew, definition)
}
