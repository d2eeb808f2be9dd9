package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// The row of the day. It stays: its due time must outlive all processes.
var dayKey = keys.Raw("day", "day")

const (
	propertyDue   = "Due"   // absent in a new row: the work is due a period after it was stored
	propertyOwner = "Owner" // the nonce of the process that has taken the work, "" for none
	propertyDone  = "Done"  // the names of the tasks that are done, one a line
	propertyLook  = "Look"  // when the tables are searched for commit records without notes
)

// A process believes that the work is its own for less than ownTime after it has sent the request
// that was applied. Another process takes the work when the row has not changed for longer.
const (
	ownTime   = 10 * time.Minute
	belief    = ownTime - ownTime/50
	allowance = time.Second // a date has whole seconds
)

// Day is the work of a day that this process has taken. It is safe for concurrent use.
type Day struct {
	table *Table
	every time.Duration
	row   dayRow

	mu    sync.Mutex
	since pace.Moment
	etag  azcore.ETag
	done  []string

	looked bool
}

// dayRow is the row of the day as it was read.
type dayRow struct {
	due, stored, look, date time.Time
	owner                   string
	done                    []string
	etag                    azcore.ETag
}

// TakeDay takes the work of a day if it is due and no other process does it. Otherwise the day is
// nil, and again is when to call TakeDay again. Requests: 1, 2 if the work is due, 2 for the first
// call of a store.
func (t *Table) TakeDay(ctx context.Context, every time.Duration) (day *Day, again time.Duration, err error) {
	row, err := t.readDay(ctx, every)
	if err != nil {
		return nil, 0, err
	}
	if row == nil {
		return nil, every, t.makeDay(ctx)
	}
	if wait := row.due.Sub(row.date); wait > 0 {
		return nil, wait, nil
	}
	if row.isOwned() {
		return nil, ownTime + allowance - row.date.Sub(row.stored), nil
	}
	day = &Day{table: t, every: every, row: *row, etag: row.etag, done: row.done}
	err = day.store(ctx, text(propertyOwner, t.rows.Options.NewID()), moment(propertyDue, row.due), moment(propertyLook, row.look))
	if err != nil {
		return nil, ownTime, ignoreLost(err)
	}
	return day, 0, nil
}

// isOwned reports whether a process does the work, and has stored so recently.
func (r *dayRow) isOwned() bool { return r.owner != "" && r.date.Sub(r.stored) < ownTime+allowance }

// makeDay stores the row, unless another process has. 1 request.
func (t *Table) makeDay(ctx context.Context) error {
	_, err := t.send(ctx, "TakeDay", aztables.TransactionTypeAdd, dayKey, "", text(propertyOwner, ""))
	if errors.Is(err, errs.ErrExists) {
		return nil
	}
	return err
}

// ignoreLost returns nil for an error after which the row tells who does the work.
func ignoreLost(err error) error {
	for _, lost := range []error{errs.ErrChanged, errs.ErrNotFound, errs.ErrUnknownOutcome} {
		if errors.Is(err, lost) {
			return nil
		}
	}
	return err
}

// readDay reads the row, nil if there is none. 1 request.
func (t *Table) readDay(ctx context.Context, every time.Duration) (*dayRow, error) {
	found, err := t.rows.GetReserved(ctx, "TakeDay", dayKey)
	if err != nil || found.Row == nil {
		return nil, t.rows.OpError("TakeDay", dayKey, err)
	}
	columns := found.Row.Columns()
	r := &dayRow{etag: found.Row.ETag, stored: found.Row.Timestamp, date: found.Date, owner: stored.Find(columns, propertyOwner).S,
		due: stored.Find(columns, propertyDue).T, look: stored.Find(columns, propertyLook).T}
	if r.date.IsZero() { // a proxy has removed it
		r.date = t.rows.Options.Now()
	}
	if r.due.IsZero() {
		r.due = r.stored.Add(every)
	}
	if r.look.IsZero() {
		r.look = r.stored.Add(firstLook)
	}
	if names := stored.Find(columns, propertyDone).S; names != "" {
		r.done = strings.Split(names, "\n")
	}
	return r, nil
}

// store merges columns into the row by its ETag, and believes from before the request.
func (d *Day) store(ctx context.Context, columns ...edm.Column) error {
	since := pace.MomentOf(d.table.rows.Options.Now)
	etag, err := d.table.send(ctx, "TakeDay", aztables.TransactionTypeUpdateMerge, dayKey, d.etag, columns...)
	if err == nil {
		d.since, d.etag = since, etag
	}
	return err
}

// Left returns for how long this process still believes that the work is its own.
func (d *Day) Left() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return belief - pace.MomentOf(d.table.rows.Options.Now).Since(d.since)
}

// IsDone reports whether a task is done.
func (d *Day) IsDone(task string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.done, task)
}

// Renew keeps the work, and stores which tasks are done besides. After an error, the work is
// another process's. 1 request.
func (d *Day) Renew(ctx context.Context, done ...string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := slices.Concat(d.done, done)
	if err := d.store(ctx, text(propertyDone, strings.Join(all, "\n"))); err != nil {
		return fmt.Errorf("the work of the day is done by another process, or its row cannot be written: %w", err)
	}
	d.done = all
	return nil
}

// End stores that the work is done, and when it is due again: a whole number of periods after it
// was due. 1 request.
func (d *Day) End(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	late := max(d.row.date.Sub(d.row.due), 0)
	due := d.row.due.Add((late/d.every + 1) * d.every)
	look := d.row.look
	if d.looked {
		look = never
	}
	return d.store(ctx, moment(propertyDue, due), text(propertyOwner, ""), text(propertyDone, ""), moment(propertyLook, look))
}
