package engine

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// markView shows marked rows as they are committed, to readers that write nothing. If the write of
// a mark has committed, the row has its new content, and an ETag that fits no row; otherwise it has
// the content before the mark, and the ETag of that time.
//
// The rows of one page are of one instant. A write that has not committed when its commit record is
// read had not committed when the page was read. If it has, the page is read again: then the write
// is known to have committed before.
//
// A mark is believed if its home is a table that the handle knows. Otherwise its row is as it was
// before, and counts as damaged. The row of a write whose commit record cannot be read is as it was
// before, too.
type markView struct {
	table  *Table
	stats  *query.Stats
	ended  map[marked]bool          // the preparations that had ended before the page was read again
	void   map[marked]bool          // of these, the preparations whose marks another program has written back: they do not count
	known  map[commitPlace]bool     // the writes that have committed
	images map[keys.Key]*stored.Row // of the page
	marks  map[marked]bool          // of the page: whether the write has committed
	torn   map[marked]bool          // the committed writes of which a new content is missing, although nothing has ended them
}

// commitPlace is where the commit record of a write is.
type commitPlace struct {
	home commit.Place
	id   string
}

// marked is what a write has prepared in a partition, as a mark names it.
type marked struct {
	commitPlace
	partition string
}

func markedIn(partition string, m stored.Mark) marked {
	return marked{commitPlace{m.Home, m.ID}, partition}
}

// look looks at the marks of a page. again reports that the page must be read again.
func (v *markView) look(ctx context.Context, body []byte) (again bool, err error) {
	v.marks, v.images = map[marked]bool{}, map[keys.Key]*stored.Row{}
	all, err := markedRows(body)
	if err != nil {
		return false, nil // the lister reports it
	}
	pending := map[commitPlace]bool{}
	for _, m := range all {
		at := markedIn(m.key.PartitionKey(), m.Mark)
		if _, seen := v.marks[at]; seen {
			continue
		}
		v.marks[at] = v.known[at.commitPlace]
		if v.marks[at] {
			continue
		}
		changed, err := v.lookAt(ctx, m, pending)
		if err != nil {
			return false, err
		}
		again = again || changed
	}
	if again {
		return true, nil
	}
	return v.readImages(ctx, all)
}

// markedRow is a row of a page with a mark.
type markedRow struct {
	key keys.Key
	stored.Mark
}

func markedRows(body []byte) (all []markedRow, err error) {
	r := edm.NewReader(body)
	err = r.Page(func(in edm.Entity) bool {
		text, err := r.Property(reserved.Mark)
		if err != nil {
			return true
		}
		if m, is := stored.MarkOf(text); is {
			all = append(all, markedRow{keys.Raw(in.PartitionKey, in.RowKey), m})
		}
		return true
	})
	return all, err
}

// lookAt finds out whether the write of a mark has committed, or has ended. Then the page must be
// read again. pending has the writes that were looked at and have not committed.
func (v *markView) lookAt(ctx context.Context, m markedRow, pending map[commitPlace]bool) (again bool, err error) {
	at := markedIn(m.key.PartitionKey(), m.Mark)
	var gone error // the table of the commit record: only a preparation needs it
	if !pending[at.commitPlace] && v.table.Knows(m.Home.Table) {
		rec, err := v.table.sibling(m.Home.Table).Record(ctx, m.Home.Partition, m.ID)
		if err = damaged(err); err != nil && !isDamage(err) {
			gone = atHome(ctx, m.key, m.Home, err)
			if !isHomeError(gone) {
				return false, gone
			}
		}
		if rec != nil && rec.State != commit.Aborted {
			v.known[at.commitPlace] = true
			return true, nil
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
	v.void[at] = void
	return ended, nil
}

// readImages reads the new contents of the rows whose writes have committed.
func (v *markView) readImages(ctx context.Context, all []markedRow) (again bool, err error) {
	for _, m := range all {
		at := markedIn(m.key.PartitionKey(), m.Mark)
		if !v.marks[at] || m.Fate != stored.FateReplace || v.torn[at] {
			continue
		}
		k := imageKey(at.partition, m.ID, m.Image)
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

// isVoid reports whether another program has written the mark of a write back that has ended: the
// mark was read after the end was known. Otherwise again reports whether the write has ended, so
// that the page must be read again.
func (v *markView) isVoid(ctx context.Context, m marked) (void, again bool, err error) {
	if v.ended[m] {
		return true, false, nil
	}
	f, err := v.table.readStored(ctx, preparationKey(m.partition, m.id))
	switch {
	case err != nil:
		return false, false, err
	case f.hidden:
		return false, false, errs.ErrRanged
	case f.row != nil:
		if p, err := preparationOf(f.row); err != nil || !p.over { // one that cannot be read has not ended
			return false, false, nil
		}
	}
	v.ended[m] = true
	return false, true, nil
}

// read returns a row of the page as it is committed.
func (v *markView) read(_ *Table, r received) (received, finding, error) {
	if text, err := r.Property(reserved.Mark); err != nil || text.Kind == edm.Absent {
		return r, given, err
	}
	columns, err := r.Reader.Columns()
	if err != nil {
		return r, given, err
	}
	in, columns, exists := v.row(r.Entity, columns)
	if !exists {
		return received{Entity: in}, absent, nil
	}
	in.Columns = columns
	return received{edm.ReadColumns(in, columns), in}, given, nil
}

// row returns a row of the page as it is committed. exists is false for a row that is not there.
func (v *markView) row(in edm.Entity, columns []edm.Column) (_ edm.Entity, _ []edm.Column, exists bool) {
	m, is := stored.MarkIn(columns)
	if !is {
		return in, columns, true
	}
	at := markedIn(in.PartitionKey, m)
	in.JSON = edm.JSON{}
	if v.void[at] {
		return in, stored.Unmarked(columns), true
	}
	if !v.table.Knows(m.Home.Table) {
		v.stats.Damaged++
		return in, stored.Unmarked(columns), m.Existed()
	}
	if !v.marks[at] {
		in.ETag = string(m.ETag)
		return in, stored.Unmarked(columns), m.Existed()
	}
	in.ETag = string(stored.UnknownETag)
	if image := v.images[imageKey(in.PartitionKey, m.ID, m.Image)]; m.Fate == stored.FateReplace && image != nil {
		return in, image.Columns(), true
	}
	return in, stored.Unmarked(columns), m.Stays()
}

var markName = []byte(reserved.Mark + `"`) // few pages contain it; quotes are frequent
