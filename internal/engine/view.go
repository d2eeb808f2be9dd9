package engine

import (
	"bytes"
	"context"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// markView shows marked rows as they are committed, to readers who write nothing. If the write of a mark has committed, the row has its
// new content, and an ETag that fits no row; otherwise it has the content before the mark, and the ETag of that time.
//
// The rows of one page are of one instant. A write that has not committed when its commit record is read had not committed when the
// page was read. If it has, the page is read again: then the write is known to have committed before.
//
// A mark is believed if its home is a table that the handle knows. Otherwise its row is as it was before, and counts as damaged. The row
// of a write whose commit record cannot be read is as it was before, too.
type markView struct {
	table  *Table
	stats  *Stats
	ended  map[marked]bool      // the preparations that had ended before the page was read again
	void   map[marked]bool      // of these, the preparations whose marks another program has written back: they do not count
	known  map[commitPlace]bool // the writes that have committed
	images map[keys.Key]*Row    // of the page
	marks  map[marked]bool      // of the page: whether the write has committed
	torn   map[marked]bool      // the committed writes of which a new content is missing, although nothing has ended them
}

// commitPlace is where the commit record of a write is.
type commitPlace struct {
	home Remote
	id   string
}

// marked is what a write has prepared in a partition, as a mark names it.
type marked struct {
	commitPlace
	partition string
}

func (m mark) in(partition string) marked { return marked{commitPlace{m.home, m.id}, partition} }

// look looks at the marks of a page. again reports that the page must be read again.
func (v *markView) look(ctx context.Context, body []byte) (again bool, err error) {
	v.marks, v.images = map[marked]bool{}, map[keys.Key]*Row{}
	type row struct {
		key keys.Key
		mark
	}
	var all []row
	r := edm.NewReader(body)
	err = r.Page(func(in edm.Entity) bool {
		if text, err := r.Property(markProperty); err == nil {
			if m, is := markOf(text); is {
				all = append(all, row{keys.Stored(in.PartitionKey, in.RowKey), m})
			}
		}
		return true
	})
	if err != nil {
		return false, nil // the lister reports it
	}
	pending := map[commitPlace]bool{}
	for _, m := range all {
		at := m.in(m.key.PartitionKey())
		if _, seen := v.marks[at]; seen {
			continue
		}
		v.marks[at] = v.known[at.commitPlace]
		if v.marks[at] {
			continue
		}
		var gone error // the table of the commit record: only a preparation needs it
		if !pending[at.commitPlace] && v.table.Knows(m.home.Table) {
			rec, err := v.table.sibling(m.home.Table).Record(ctx, m.home.Partition, m.id)
			if err = damaged(err); err != nil && !isDamage(err) {
				gone = atHome(ctx, m.key, m.home, err)
				if !isHomeError(gone) {
					return false, gone
				}
			}
			if rec != nil && rec.State != RecordAborted {
				v.known[at.commitPlace], again = true, true
				continue
			}
		}
		pending[at.commitPlace] = true
		// The write may have been finished, and its record swept, after the page was read.
		void, ended, err := v.isVoid(ctx, at)
		if err == nil && !void && !ended {
			err = gone
		}
		if err != nil {
			return false, err
		}
		v.void[at], again = void, again || ended
	}
	if again {
		return true, nil
	}
	for _, m := range all {
		at := m.in(m.key.PartitionKey())
		if !v.marks[at] || m.what != fateReplace || v.torn[at] {
			continue
		}
		k := imageKey(at.partition, m.id, m.image)
		image, err := v.table.readStored(ctx, k)
		if err == nil && image.row == nil { // it is finished meanwhile, or damaged
			v.void[at], again, err = v.isVoid(ctx, at)
			v.torn[at] = !v.void[at] && !again
		}
		if err != nil || again {
			return again, err
		}
		v.images[k] = image.row
	}
	return false, nil
}

// isVoid reports whether another program has written the mark of a write back that has ended: the mark was read after the end was
// known. Otherwise again reports whether the write has ended, so that the page must be read again.
func (v *markView) isVoid(ctx context.Context, m marked) (void, again bool, err error) {
	if v.ended[m] {
		return true, false, nil
	}
	f, err := v.table.readStored(ctx, preparationKey(m.partition, m.id))
	switch {
	case err != nil:
		return false, false, err
	case f.hidden:
		return false, false, ErrRanged
	case f.row != nil:
		if p, err := preparationOf(f.row); err != nil || !p.over { // one that cannot be read has not ended
			return false, false, nil
		}
	}
	v.ended[m] = true
	return false, true, nil
}

// row returns a row of the page as it is committed. exists is false for a row that is not there.
func (v *markView) row(in edm.Entity, columns []edm.Column) (_ edm.Entity, _ []edm.Column, exists bool) {
	m, is := markIn(columns)
	if !is {
		return in, columns, true
	}
	at := m.in(in.PartitionKey)
	in.JSON = edm.JSON{}
	if v.void[at] {
		return in, unmarked(columns), true
	}
	if !v.table.Knows(m.home.Table) {
		v.stats.Damaged++
		return in, unmarked(columns), m.existed()
	}
	if !v.marks[at] {
		in.ETag = string(m.etag)
		return in, unmarked(columns), m.existed()
	}
	in.ETag = string(superseded)
	if image := v.images[imageKey(in.PartitionKey, m.id, m.image)]; m.what == fateReplace && image != nil {
		return in, image.Columns, true
	}
	return in, unmarked(columns), m.what != fateDelete
}

// mayHaveMarks reports whether a page contains the name of the mark, as few do.
func mayHaveMarks(page []byte) bool { return bytes.Contains(page, markName) } // quotes are frequent

var markName = []byte(markProperty + `"`)
