package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Get reads the entity under a key as it is stored, with its parts. 1 request. Errors: ErrNotFound;
// ErrContended if its parts change during each read; errors of a read (see package table), without
// an OpError.
func (t *Table) Get(ctx context.Context, k keys.Key) (*stored.Row, error) {
	f, err := t.aliveEntity(ctx, k)
	if err == nil && f.row == nil {
		err = f.gone
	}
	return f.row, err
}

// OpenRow reads an entity whose columns the caller decodes. 1 request. Errors: ErrNotFound;
// ErrContended; errors of a read (see package table), without an OpError.
func (t *Table) OpenRow(ctx context.Context, k keys.Key) (*edm.Reader, edm.Entity, error) {
	if t.Mode.Parts > 0 {
		row, err := t.Get(ctx, k)
		if err != nil {
			return nil, edm.Entity{}, err
		}
		r, in := row.Open()
		return r, in, nil
	}
	r, in, f, err := t.openAlive(ctx, k, true)
	if err == nil && r == nil {
		err = f.gone
	}
	return r, in, err
}

// wide reports whether an entity may have parts.
func (t *Table) wide() bool { return t.Mode.Parts > 0 }

// mostTornReads is how often an entity is read that concurrent writers change during each read.
const mostTornReads = 5

// readEntity reads an entity, with its parts if it is wide. An entity that is not there is no
// error. 1 request, and 1 more for each time that a concurrent writer has changed it meanwhile.
func (t *Table) readEntity(ctx context.Context, k keys.Key) (readResult, error) {
	if t.Mode.Parts == 0 {
		return t.readRow(ctx, k)
	}
	var found readResult
	var torn tornReads
	err := torn.policy(t).Repeat(ctx, t.Log("Get", k), func() (again bool, err error) {
		var a *assembly
		if a, err = t.readRows(ctx, k, edm.MaxPart); err != nil {
			return false, err
		}
		if a == nil {
			found = readResult{gone: errs.With(errs.ErrNotFound, errNoRow), hidden: t.RangedRows()}
			return false, nil
		}
		found = readResult{row: a.row(), date: a.head.Date}
		return torn.again(a, a.whole())
	})
	return found, err
}

// tornReads decides what becomes of reads that find rows of several versions. If the head has not
// changed since the read before, no writer was at work: the entity is damaged.
type tornReads struct {
	last  string // the ETag of the head
	times int
}

func (r *tornReads) policy(t *Table) Retry {
	policy := Retry(t.Options.Retry).ForConflicts()
	policy.Attempts = mostTornReads
	return policy
}

// again returns the error of a read, nil for none, and whether to read again.
func (r *tornReads) again(a *assembly, err error) (bool, error) {
	r.times++
	if err == nil || a.head.ETag == r.last {
		return false, err
	}
	r.last = a.head.ETag
	if r.times == mostTornReads {
		err = errs.With(errs.ErrContended, err)
	}
	return true, err
}

// readRows reads the head of an entity and its parts up to a number by one query, nil if there is
// no head. If a write over several partitions has prepared the head, readRows ends that write and
// reads again.
func (t *Table) readRows(ctx context.Context, k keys.Key, last uint8) (a *assembly, err error) {
	var marked bool
	var m stored.Mark
	view := false
	for n := range mostResolutions {
		if a, m, marked, err = t.readRowsOnce(ctx, view, k, last); err != nil || !marked {
			return a, err
		}
		ended, err := t.endWriteOf(ctx, k, m, n)
		if err != nil && !mayNotWrite(err) && !isDamage(err) {
			return nil, err
		}
		view = view || ended || err != nil // another program may have written the mark back
	}
	return nil, errs.With(errs.ErrContended, errPrepared)
}

// readRowsOnce is one attempt of readRows. It returns the mark of the head, if it has one.
func (t *Table) readRowsOnce(ctx context.Context, committed bool, k keys.Key, last uint8) (a *assembly, m stored.Mark, marked bool, err error) {
	err = t.eachStored(ctx, rowsFilter(k.PartitionKey(), k.RowKey(), stored.PartKey(k, last).RowKey()), "", committed, func(in edm.Entity, columns []edm.Column) bool {
		if in.RowKey == k.RowKey() {
			m, marked = stored.MarkIn(columns)
			if marked {
				return false
			}
		}
		switch {
		case in.RowKey == k.RowKey():
			a = assemble(in, columns)
		case a != nil:
			a.add(in.RowKey, columns)
		}
		return true
	})
	return a, m, marked, err
}

// eachEntity is each for entities: parts come with their heads.
func (t *Table) eachEntity(ctx context.Context, filter string, f func(*stored.Row) bool) error {
	if t.Mode.Parts == 0 {
		return t.each(ctx, filter, "", f)
	}
	var pending *assembly
	var bad error
	flush := func() (more bool) {
		a := pending
		pending = nil
		if a == nil {
			return true
		}
		if a.whole() == nil {
			return f(a.row())
		}
		again, err := t.readEntity(ctx, a.row().Key)
		bad = err
		if err != nil || again.row == nil {
			return err == nil
		}
		return f(again.row)
	}
	stopped := false
	err := t.eachPhysical(ctx, filter, "", func(in edm.Entity, columns []edm.Column) bool {
		if pending != nil && pending.head.PartitionKey == in.PartitionKey && pending.add(in.RowKey, columns) || stored.Find(columns, reserved.Part).Kind != edm.Absent {
			return true
		}
		stopped = !flush()
		pending = assemble(in, columns)
		return !stopped
	})
	if err == nil && !stopped {
		flush()
	}
	return cmp.Or(bad, err)
}

// readRow reads the row under a key. A row that is not there is no error. 1 request.
func (t *Table) readRow(ctx context.Context, k keys.Key) (readResult, error) {
	r, in, f, err := t.openRow(ctx, k)
	if err != nil || r == nil {
		return f, err
	}
	return wholeRow(k, r, in)
}

// openRow is every read of one row, except by resolvers. The reader is nil if there is no row. If a
// write over several partitions has prepared the row, openRow ends that write and reads again. So
// no program waits for a crashed one.
func (t *Table) openRow(ctx context.Context, k keys.Key) (*edm.Reader, edm.Entity, readResult, error) {
	void := "" // the operation ID of a write that has ended, whose mark another program has written back
	for n := range mostResolutions {
		r, in, f, err := t.openStored(ctx, k)
		if err != nil || r == nil {
			return r, in, f, err
		}
		text, err := r.Property(reserved.Mark)
		m, marked := stored.MarkOf(text)
		if err != nil || !marked {
			return r, in, f, err
		}
		columns, err := r.Columns()
		if err != nil {
			return nil, in, f, err
		}
		if m.ID == void {
			return viewed(in, stored.Unmarked(columns), true)
		}
		ended, err := t.endWriteOf(ctx, k, m, n)
		switch {
		case isDamage(err): // the row is as it was before the mark
			return viewed(in, stored.Unmarked(columns), m.Existed())
		case mayNotWrite(err):
			return t.viewRow(ctx, k)
		case err != nil:
			return nil, in, f, err
		case ended:
			void = m.ID
		}
	}
	return nil, edm.Entity{}, readResult{}, errs.With(errs.ErrContended, errPrepared)
}

// viewRow reads a row as it is committed, by a query, and writes nothing.
func (t *Table) viewRow(ctx context.Context, k keys.Key) (r *edm.Reader, in edm.Entity, f readResult, err error) {
	f.gone = errs.With(errs.ErrNotFound, errNoRow)
	err = t.eachPhysical(ctx, rowsFilter(k.PartitionKey(), k.RowKey(), k.RowKey()), "", func(found edm.Entity, columns []edm.Column) bool {
		r, in, f, _ = viewed(found, columns, true)
		return false
	})
	return r, in, f, err
}

// viewed is what openRow returns for a row that is read otherwise than it is stored.
func viewed(in edm.Entity, columns []edm.Column, exists bool) (*edm.Reader, edm.Entity, readResult, error) {
	if !exists {
		return nil, edm.Entity{}, readResult{gone: errs.With(errs.ErrNotFound, errNoRow)}, nil
	}
	in.JSON, in.Columns = edm.JSON{}, columns
	return edm.ReadColumns(in, columns), in, readResult{}, nil
}

// withReadHint returns err, the error of a write that could not read its row first. A caller that
// may write and not read gets a way out.
func withReadHint(err error, must bool) error {
	var re *azcore.ResponseError
	if must || !errors.As(err, &re) || re.StatusCode != http.StatusForbidden {
		return err
	}
	return errs.With(errMayNotRead, err)
}

var errMayNotRead = errors.New("the row must be read before it is written, and this client may not read it; set Options.BlindWrites if the table's rows have no derived rows")

var errNoRow = errors.New("the query for the entity and its parts returned no row")

// readStored reads a row as it is stored, marked or not. A row that is not there is no error. 1
// request.
func (t *Table) readStored(ctx context.Context, k keys.Key) (readResult, error) {
	r, in, f, err := t.openStored(ctx, k)
	if err != nil || r == nil {
		return f, err
	}
	return wholeRow(k, r, in)
}

// Reserved is what a read of a row of the library finds.
type Reserved struct {
	Row    *stored.Row // nil if there is none
	Hidden bool        // there may be one that the client's signature does not show
	Date   time.Time   // of the response, by the service's clock, if there is a row; zero if the response does not say
}

// GetReserved reads a row of the library, as it is stored, for a method. 1 request.
func (t *Table) GetReserved(ctx context.Context, method string, k keys.Key) (r Reserved, err error) {
	ctx, end := t.Span(ctx, method)
	defer func() { end(err) }()
	f, err := t.readStored(ctx, k)
	return Reserved{f.row, f.hidden || t.Ranged(), f.date}, err
}

// wholeRow returns the row of a reader, and releases the reader.
func wholeRow(k keys.Key, r *edm.Reader, in edm.Entity) (readResult, error) {
	defer r.Release()
	columns, err := r.Columns()
	if err != nil {
		return readResult{}, err
	}
	row := &stored.Row{Key: k, ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp}
	row.SetColumns(columns)
	row.SetJSON(in.JSON)
	return readResult{row: row, date: in.Date}, nil
}

// openStored reads a row as it is stored.
func (t *Table) openStored(ctx context.Context, k keys.Key) (r *edm.Reader, in edm.Entity, f readResult, err error) {
	if t.Mode.LookUp == nil && enduringOf(ctx) == nil {
		return t.openStoredOnce(ctx, k)
	}
	open := func() (err error) {
		releaseReader(r)
		r, in, f, err = t.openStoredOnce(ctx, k)
		return err
	}
	err = Retry(t.Options.Retry).Endure(ctx, t.Log("Get", k), func() error {
		if t.Mode.LookUp == nil {
			return open()
		}
		return t.Mode.LookUp.read(ctx, open)
	})
	return r, in, f, err
}

func (t *Table) openStoredOnce(ctx context.Context, k keys.Key) (*edm.Reader, edm.Entity, readResult, error) {
	fail := func(err error) (*edm.Reader, edm.Entity, readResult, error) {
		return nil, edm.Entity{}, readResult{}, err
	}
	ctx, cancel := Bound(ctx, t.Options.ReadTimeout)
	defer cancel()
	var call wire.Call
	if err := t.requestRow(ctx, &call, k); err != nil {
		if call.SignedForPartitions() {
			t.shared.ranged.Store(true)
		}
		if known(err) == errs.ErrNotFound {
			return nil, edm.Entity{}, readResult{gone: t.conditioned(ctx, err), hidden: hidden(&call, k)}, nil
		}
		return fail(t.conditioned(ctx, err))
	}
	body, err := call.Body()
	if err != nil {
		return fail(t.conditioned(ctx, err))
	}
	r := t.shared.shapes.Reader(body)
	in, err := r.One()
	if err == nil {
		err = checkKey(k, in)
	}
	if err != nil {
		return fail(err)
	}
	if in.ETag == "" {
		in.ETag = call.Header("ETag") // a service that sends it in the header alone
	}
	in.Date = call.Date()
	return r, in, readResult{}, nil
}

// requestRow sends the request for a row.
func (t *Table) requestRow(ctx context.Context, call *wire.Call, k keys.Key) (err error) {
	if t.Fault != nil {
		return t.Fault
	}
	if t.tapped() {
		err = t.exchange(ctx, call, &wire.Request{Method: http.MethodGet, Target: wire.Row, PartitionKey: k.PartitionKey(), RowKey: k.RowKey()})
	} else {
		_, err = t.client.GetEntity(call.Read(ctx), k.PartitionKey(), k.RowKey(), nil)
	}
	t.responded(ctx, call)
	return checkRead(call, err)
}

// checkKey returns a *DecodeError if a response contains another row than the requested row, as the
// response of a proxy may.
func checkKey(k keys.Key, in edm.Entity) error {
	if in.PartitionKey == k.PartitionKey() && in.RowKey == k.RowKey() {
		return nil
	}
	return &errs.DecodeError{Reason: "it holds the row " + keys.Raw(in.PartitionKey, in.RowKey).String() + ", which was not asked for"}
}

// hidden reports whether a row could exist although the call has not found it, since the signature
// is for other rows.
func hidden(call *wire.Call, k keys.Key) bool {
	first, last, ranged := call.SignedRows()
	return ranged && (keys.Compare(k.RowKey(), first) < 0 || last != "" && keys.Compare(k.RowKey(), last) > 0)
}

// GetParts reads some parts of an entity, with its head. whole reports that these are all of its
// parts. Requests: 1 if the parts are the head, or begin with part 1; otherwise 2 at the same time.
// A torn read is repeated as by Get.
func (t *Table) GetParts(ctx context.Context, k keys.Key, parts []uint8) (row *stored.Row, whole bool, err error) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(n uint8) bool { return n == 0 })
	var gone error
	var torn tornReads
	err = torn.policy(t).Repeat(ctx, t.Log("GetFields", k), func() (again bool, err error) {
		var a *assembly
		switch {
		case len(parts) == 0:
			a, gone, err = t.readHead(ctx, k)
		case parts[0] == 1:
			if a, err = t.readRows(ctx, k, parts[len(parts)-1]); a == nil {
				gone = errs.With(errs.ErrNotFound, errNoRow)
			}
		default:
			a, gone, err = t.readHeadAndParts(ctx, k, parts[0], parts[len(parts)-1])
		}
		if err != nil || a == nil {
			return false, err
		}
		gone, again, err = t.goneFor(ctx, readResult{row: a.row(), date: a.head.Date})
		if gone != nil || again || err != nil {
			return again, err
		}
		whole = true
		for _, part := range a.directory {
			if !slices.Contains(parts, part.number) {
				whole = false
			} else if !slices.Contains(a.found, part.number) {
				a.fail(fmt.Sprintf("lists part %d, which is missing", part.number))
			}
		}
		a.columns = slices.DeleteFunc(a.columns, func(c edm.Column) bool { return c.Part > 0 && !slices.Contains(parts, c.Part) })
		row = a.row()
		return torn.again(a, a.err)
	})
	if err == nil && gone != nil {
		err = gone
	}
	return row, whole, err
}

// readHead reads the head of an entity alone, nil if there is none.
func (t *Table) readHead(ctx context.Context, k keys.Key) (a *assembly, gone, err error) {
	f, err := t.readRow(ctx, k)
	if err != nil || f.row == nil {
		return nil, f.gone, err
	}
	in := edm.Entity{PartitionKey: k.PartitionKey(), RowKey: k.RowKey(), ETag: string(f.row.ETag), Timestamp: f.row.Timestamp, Date: f.date}
	return assemble(in, f.row.Columns()), nil, nil
}

// readHeadAndParts reads the head of an entity, and parts behind it, at the same time.
func (t *Table) readHeadAndParts(ctx context.Context, k keys.Key, first, last uint8) (a *assembly, gone, err error) {
	type partRow struct {
		rowKey  string
		columns []edm.Column
	}
	var rows []partRow
	reads := []func(context.Context) error{
		func(ctx context.Context) (err error) {
			a, gone, err = t.readHead(ctx, k)
			return err
		},
		func(ctx context.Context) error {
			return t.eachPhysical(ctx, rowsFilter(k.PartitionKey(), stored.PartKey(k, first).RowKey(), stored.PartKey(k, last).RowKey()), "", func(in edm.Entity, columns []edm.Column) bool {
				rows = append(rows, partRow{in.RowKey, columns})
				return true
			})
		},
	}
	InOrder(ctx, reads, func(ctx context.Context, read func(context.Context) error) (struct{}, error) {
		return struct{}{}, read(ctx)
	}, func(_ struct{}, rerr error) bool {
		err = cmp.Or(err, rerr)
		return err == nil
	})
	if err != nil || a == nil {
		return nil, gone, err
	}
	for _, row := range rows {
		a.add(row.rowKey, row.columns)
	}
	return a, nil, nil
}

// readResult is a row as it was read.
type readResult struct {
	row    *stored.Row // nil if there is none
	gone   error       // the service's response, if there is none
	hidden bool        // there may be a row that the client's signature does not show
	date   time.Time   // of the response, if there is a row; zero if it says none
}

// etag returns the ETag of the row, "" if there is none.
func (f readResult) etag() azcore.ETag {
	if f.row == nil {
		return ""
	}
	return f.row.ETag
}

// checkRead returns err, the error of a request that reads, or nil if a complete response of status
// 200 came. The library decides whether the response can be read, and not the SDK.
func checkRead(call *wire.Call, err error) error {
	if call.Check(nil) == nil && call.Status() == http.StatusOK {
		if body, berr := call.Body(); berr == nil && len(body) > 0 {
			return nil
		}
	}
	return call.Check(err)
}
