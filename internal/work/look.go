package work

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// A store has notes for firstLook before its tables are searched for commit records without: those
// of programs of an older release are then old enough to be deleted. The search is done once: then
// the row of the day says never.
const firstLook = 50 * time.Hour

var never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// NeedsLook reports whether the tables are to be searched for commit records without notes.
func (d *Day) NeedsLook() bool { return !d.row.look.After(d.row.date) }

// Looked makes End store that the tables were searched.
func (d *Day) Looked() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looked = true
}

// Look is the search of the tables by a program that does not take the work of a day.
type Look struct {
	table *Table
	etag  azcore.ETag
}

// TakeLook takes the search if it is due, for a day. It returns nil if it is not, and if a process
// does the work of a day, of which the search is a part. Requests: 1, 2 for the first call of a
// store and if the search is due.
func (t *Table) TakeLook(ctx context.Context) (*Look, error) {
	row, err := t.readDay(ctx, 0)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, t.makeDay(ctx)
	}
	day := Day{row: *row}
	if !day.NeedsLook() || row.isOwned() {
		return nil, nil
	}
	look := &Look{t, row.etag}
	if err := look.store(ctx, row.date.Add(24*time.Hour)); err != nil {
		return nil, ignoreLost(err)
	}
	return look, nil
}

// End stores that the tables were searched. If the row has changed, they will be once more. 1
// request.
func (l *Look) End(ctx context.Context) error {
	return ignoreLost(l.store(ctx, never))
}

// store stores when the tables are searched next.
func (l *Look) store(ctx context.Context, next time.Time) (err error) {
	l.etag, err = l.table.send(ctx, "TakeDay", aztables.TransactionTypeUpdateMerge, dayKey, l.etag, moment(propertyLook, next))
	return err
}
