package transfer

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// CompareOptions are the options of [Compare]. The zero value compares all rows as they are stored.
type CompareOptions struct {
	// EntitiesOnly leaves out derived rows, the rows of the library and its properties: what has
	// been rebuilt may differ in these.
	EntitiesOnly bool
}

// The kinds of differences.
const (
	OnlyFirst  = "only in the first"  // the second source has no such row
	OnlySecond = "only in the second" // the first source has no such row
	Different  = "different"          // some properties differ
)

// Difference is a row that two sources do not both have, or have with other properties.
type Difference struct {
	Kind       string
	Key        keys.Key
	Properties []string // the names of those that differ, sorted
}

// Compare yields the differences between two sources, in the order of their rows: tables, exports,
// or one of each. Times of the last change and ETags are not compared. Rows that are written during
// the comparison may be reported.
//
//	for d, err := range transfer.Compare(ctx, transfer.Exported(transfer.Folder("backup/staff")), transfer.Of(staff), nil) { … }
//
// Errors: *table.ValueError for a nil source; *FileError and table.ErrIncomplete for an export,
// *fs.PathError or table.ErrNotCreated if there is none; errors of a read (see package table).
// Requests: 1 for each 1,000 rows of a table, 1 for each chunk of an export in a container, and 1
// for its manifest.
func Compare(ctx context.Context, first, second Source, o *CompareOptions) iter.Seq2[*Difference, error] {
	if o == nil {
		o = &CompareOptions{}
	}
	ctx = engine.Enduring(ctx)
	return func(yield func(*Difference, error) bool) {
		a, stopA := newSide(ctx, "first", first, o)
		defer stopA()
		b, stopB := newSide(ctx, "second", second, o)
		defer stopB()
		a.next()
		b.next()
		for a.err == nil && b.err == nil && (a.row != nil || b.row != nil) {
			d := a.compare(b)
			if d != nil && !yield(d, nil) {
				return
			}
		}
		if err := cmp.Or(a.err, b.err); err != nil {
			yield(nil, fmt.Errorf("transfer: Compare: %w", err))
		}
	}
}

// side is one of the sources of a comparison.
type side struct {
	row  *row // the next one; nil at the end
	err  error
	pull func() (*row, error, bool)
	opt  *CompareOptions
}

func newSide(ctx context.Context, argument string, s Source, o *CompareOptions) (*side, func()) {
	if s == nil {
		return &side{err: errNilSource(argument), pull: func() (*row, error, bool) { return nil, nil, false }}, func() {}
	}
	pull, stop := iter.Pull2(rowsOf(ctx, s))
	return &side{pull: pull, opt: o}, stop
}

// next moves on to the next row that is compared.
func (s *side) next() {
	for s.err == nil {
		r, err, ok := s.pull()
		s.row, s.err = nil, err
		if !ok || err != nil {
			return
		}
		if s.opt.EntitiesOnly && !isEntity(r) {
			continue
		}
		s.row = r
		return
	}
}

// isEntity reports whether a row is an entity, or a part of one.
func isEntity(r *row) bool {
	return !strings.HasPrefix(r.key.RowKey(), reserved.First) && stored.Find(r.columns, reserved.Owner).Kind == edm.Absent
}

// compare compares the next rows of two sides, and moves on behind the lower one, or both.
func (s *side) compare(o *side) *Difference {
	order := 0
	switch {
	case o.row == nil:
		order = -1
	case s.row == nil:
		order = 1
	default:
		order = s.row.place().compare(o.row.place())
	}
	switch {
	case order < 0:
		d := &Difference{Kind: OnlyFirst, Key: s.row.key}
		s.next()
		return d
	case order > 0:
		d := &Difference{Kind: OnlySecond, Key: o.row.key}
		o.next()
		return d
	}
	k, names := s.row.key, s.differ(s.row.columns, o.row.columns)
	s.next()
	o.next()
	if len(names) == 0 {
		return nil
	}
	return &Difference{Different, k, names}
}

// differ returns the names of the properties that differ.
func (s *side) differ(a, b []edm.Column) (names []string) {
	add := func(from, in []edm.Column) {
		for _, c := range from {
			if s.opt.EntitiesOnly && edm.IsSystem(c.Name) || slices.ContainsFunc(in, c.Same) || slices.Contains(names, c.Name) {
				continue
			}
			names = append(names, c.Name)
		}
	}
	add(a, b)
	add(b, a)
	slices.Sort(names)
	return names
}
