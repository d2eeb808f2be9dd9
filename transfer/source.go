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
	open(context.Context) (rowSource, error)
}

// rowSource is a source that was opened.
type rowSource interface {
	// catalogue returns the row of the table's definitions, nil if there is none.
	catalogue(context.Context) (*row, error)
	// parts returns the rows of a span, in order, in parts.
	parts(context.Context, span) iter.Seq[iter.Seq2[*row, error]]
}

// Exported returns the rows of an export.
func Exported(at Place) Source { return exported{at} }

type exported struct{ at Place }

// open reads the manifest.
func (s exported) open(ctx context.Context) (rowSource, error) {
	if s.at == nil {
		return nil, &table.ValueError{Field: "at", Reason: "is nil; give a Folder or a Container"}
	}
	m, err := readManifest(ctx, s.at)
	if err == nil && m == nil {
		err = errNoFile(s.at, ManifestName)
	}
	if err != nil {
		return nil, err
	}
	pieces, err := m.pieces()
	return openExport{s.at, m.header.Catalogue, pieces}, err
}

type openExport struct {
	at          Place
	definitions []byte
	pieces      []piece
}

func (s openExport) catalogue(context.Context) (*row, error) {
	if s.definitions == nil {
		return nil, nil
	}
	r, err := rowOf(s.definitions)
	if err != nil {
		return nil, wrongManifest("has definitions that cannot be read: " + err.Error())
	}
	return &r, nil
}

func (s openExport) parts(ctx context.Context, in span) iter.Seq[iter.Seq2[*row, error]] {
	return func(yield func(iter.Seq2[*row, error]) bool) {
		for _, p := range s.pieces {
			p.read = p.read.intersect(in)
			if p.read.isEmpty() {
				continue
			}
			if !yield(p.rows(ctx, s.at)) {
				return
			}
		}
	}
}

// Of returns the rows of a table as they are stored. Requests: 1 for each 1,000.
func Of(t table.Handle) Source { return ofTable{door.Table(t)} }

type ofTable struct{ table *engine.Table }

func (s ofTable) open(context.Context) (rowSource, error) {
	return s, engine.CheckHandle("t", s.table)
}

func (s ofTable) catalogue(ctx context.Context) (*row, error) { return catalogueOf(ctx, s.table) }

func (s ofTable) parts(ctx context.Context, in span) iter.Seq[iter.Seq2[*row, error]] {
	return inParts(s.rows(ctx, in), 10_000)
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

func (s ofTable) rows(ctx context.Context, in span) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
		on := true
		err := readSpan(ctx, s.table, in, func(r *row) bool {
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
		opened, err := s.open(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for part := range opened.parts(ctx, span{}) {
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
