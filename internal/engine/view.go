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
type markView struct {
	table  *Table
	ended  map[string]bool   // the writes that had ended before the page was read again
	void   map[string]bool   // of these, the writes whose marks another program has written back: they do not count
	known  map[string]bool   // the writes that have committed
	images map[keys.Key]*Row // of the page
	marks  map[string]bool   // of the page: by operation ID, whether the write has committed
}

// look looks at the marks of a page. again reports that the page must be read again.
func (v *markView) look(ctx context.Context, body []byte) (again bool, err error) {
	v.marks, v.images = map[string]bool{}, map[keys.Key]*Row{}
	type marked struct {
		partition string
		mark
	}
	var all []marked
	r := edm.NewReader(body)
	err = r.Page(func(in edm.Entity) bool {
		if text, err := r.Property(markProperty); err == nil {
			if m, is := markOf(text); is {
				all = append(all, marked{in.PartitionKey, m})
			}
		}
		return true
	})
	if err != nil {
		return false, nil // the lister reports it
	}
	for _, m := range all {
		if _, seen := v.marks[m.id]; seen {
			continue
		}
		if v.marks[m.id] = v.known[m.id]; v.known[m.id] {
			continue
		}
		rec, err := v.table.sibling(m.home.Table).Record(ctx, m.home.Partition, m.id)
		if err != nil {
			return false, err
		}
		switch {
		case rec != nil && rec.State != RecordAborted:
			v.known[m.id], again = true, true
		default: // the write may have been finished, and its record swept, after the page was read
			void, ended, err := v.isVoid(ctx, m.partition, m.id)
			if err != nil {
				return false, err
			}
			v.void[m.id], again = void, again || ended
		}
	}
	if again {
		return true, nil
	}
	for _, m := range all {
		if !v.marks[m.id] || m.what != fateReplace {
			continue
		}
		k := imageKey(m.partition, m.id, m.image)
		image, err := v.table.readStored(ctx, k)
		if err == nil && image.row == nil { // it is finished meanwhile
			v.void[m.id], _, err = v.isVoid(ctx, m.partition, m.id)
		}
		if err != nil || image.row == nil && !v.void[m.id] {
			return err == nil, err
		}
		v.images[k] = image.row
	}
	return false, nil
}

// isVoid reports whether another program has written the mark of a write back that has ended: the mark was read after the end was
// known. Otherwise again reports whether the write has ended, so that the page must be read again.
func (v *markView) isVoid(ctx context.Context, partition, id string) (void, again bool, err error) {
	if v.ended[id] {
		return true, false, nil
	}
	f, err := v.table.readStored(ctx, preparationKey(partition, id))
	switch {
	case err != nil:
		return false, false, err
	case f.hidden:
		return false, false, ErrRanged
	case f.row != nil:
		p, err := preparationOf(f.row)
		if err != nil || !p.over {
			return false, false, err
		}
	}
	v.ended[id] = true
	return false, true, nil
}

// row returns a row of the page as it is committed. exists is false for a row that is not there.
func (v *markView) row(in edm.Entity, columns []edm.Column) (_ edm.Entity, _ []edm.Column, exists bool) {
	m, marked := markIn(columns)
	if !marked {
		return in, columns, true
	}
	in.JSON = edm.JSON{}
	if v.void[m.id] {
		return in, unmarked(columns), true
	}
	if !v.marks[m.id] {
		in.ETag = string(m.etag)
		return in, unmarked(columns), m.what != fateInsert
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
