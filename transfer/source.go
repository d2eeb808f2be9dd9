package transfer

import (
	"context"
	"fmt"
	"iter"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// Source is where rows come from: an export ([Exported]), or a table ([Of]).
type Source interface {
	// catalogue returns the row of the table's definitions, nil if there is none.
	catalogue(context.Context) (*row, error)
	// parts returns the rows, in order, in parts.
	parts(context.Context) (iter.Seq[iter.Seq2[*row, error]], error)
}

// Exported returns the rows of an export.
func Exported(at Place) Source { return exported{at} }

type exported struct{ at Place }

func (s exported) manifest(ctx context.Context) (*manifest, error) {
	if s.at == nil {
		return nil, &table.ValueError{Field: "at", Reason: "is nil; give a Folder or a Container"}
	}
	m, err := readManifest(ctx, s.at)
	if err == nil && m == nil {
		err = errNoFile(s.at, ManifestName)
	}
	return m, err
}

func (s exported) catalogue(ctx context.Context) (*row, error) {
	m, err := s.manifest(ctx)
	if err != nil || m.header.Catalogue == nil {
		return nil, err
	}
	r, err := rowOf(m.header.Catalogue)
	if err != nil {
		return nil, &ManifestError{"has definitions that cannot be read: " + err.Error()}
	}
	return &r, nil
}

func (s exported) parts(ctx context.Context) (iter.Seq[iter.Seq2[*row, error]], error) {
	m, err := s.manifest(ctx)
	if err != nil {
		return nil, err
	}
	pieces, err := m.pieces()
	if err != nil {
		return nil, err
	}
	return func(yield func(iter.Seq2[*row, error]) bool) {
		for i := range pieces {
			if !yield(pieces[i].rows(ctx, s.at)) {
				return
			}
		}
	}, nil
}

// Of returns the rows of a table as they are stored. Requests: 1 for each 1,000.
func Of(t table.AnyTable) Source { return ofTable{door.Table(t)} }

type ofTable struct{ table *engine.Table }

func (s ofTable) catalogue(ctx context.Context) (*row, error) {
	if err := engine.CheckHandle("t", s.table); err != nil {
		return nil, err
	}
	return catalogueOf(ctx, s.table)
}

func (s ofTable) parts(ctx context.Context) (iter.Seq[iter.Seq2[*row, error]], error) {
	if err := engine.CheckHandle("t", s.table); err != nil {
		return nil, err
	}
	return inParts(s.rows(ctx), 10_000), nil
}

// inParts cuts rows into parts of n. Each part is read to its end before the next.
func inParts(rows iter.Seq2[*row, error], n int) iter.Seq[iter.Seq2[*row, error]] {
	return func(yield func(iter.Seq2[*row, error]) bool) {
		next, stop := iter.Pull2(rows)
		defer stop()
		r, err, more := next()
		part := func(yield func(*row, error) bool) {
			for i := 0; more && i < n; i++ {
				if !yield(r, err) {
					more = false
					return
				}
				r, err, more = next()
			}
		}
		for more {
			if !yield(part) {
				return
			}
		}
	}
}

func (s ofTable) rows(ctx context.Context) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
		on := true
		err := readSpan(ctx, s.table, span{}, func(r *row) bool {
			on = yield(r, nil)
			return on
		}, nil)
		if err == nil && s.table.Ranged() {
			err = table.ErrRanged
		}
		if err != nil && on {
			yield(nil, fmt.Errorf("table %s: %w", s.table.Name, err))
		}
	}
}

// rowsOf returns the rows of all parts.
func rowsOf(ctx context.Context, s Source) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
		parts, err := s.parts(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for part := range parts {
			for r, err := range part {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

func errNilSource(argument string) error {
	return &table.ValueError{Field: argument, Reason: "is nil; give Exported of a place, or Of of a table"}
}
