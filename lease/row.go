package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// The row of a lease: its PartitionKey is the name of the lease. It stays, also if the lease is
// never acquired again: without it, fences would begin again, and a holder that was asleep would
// have the fence of a later one. So do the head and the last guard in each partition that a holder
// has entered. Package model shows it: its variants "a release deletes the row" and "no head".
const (
	rowKey = "lease"

	propertyOwner    = "Owner"
	propertyFence    = "Token"    // of the last acquisition
	propertyNonce    = "Nonce"    // of the last acquisition
	propertySeconds  = "Seconds"  // time to live
	propertyReleased = "Released" // true or absent
)

// row is the row of a lease as it was read.
type row struct {
	owner, nonce string
	fence        int64
	timeToLive   time.Duration
	released     bool
	etag         azcore.ETag // "" if there is no row
	age          time.Duration
}

// left returns how long the lease still lasts, if it is not renewed.
func (r *row) left() time.Duration {
	if r.etag == "" || r.released {
		return 0
	}
	return max(r.timeToLive+allowance-r.age, 0)
}

func keyOf(name string) keys.Key { return keys.Raw(name, rowKey) }

// read reads the row of a lease. 1 request.
func (s *Leases) read(ctx context.Context, method, name string) (*row, error) {
	k := keyOf(name)
	var found engine.Reserved
	bounded, cancel := engine.Bound(ctx, s.rows.Options.WriteTimeout)
	defer cancel()
	err := engine.Retry(s.rows.Options.Retry).RepeatRead(bounded, s.rows.Log(method, k), func(ctx context.Context) (err error) {
		found, err = s.rows.GetReserved(ctx, method, k)
		return err
	})
	if err == nil && found.Row == nil {
		if found.Hidden {
			err = &table.ValueError{Field: "the client's signature", Reason: "does not show whether the lease has a row; give it the right to read the table of leases"}
		}
		return &row{}, s.rows.OpError(method, k, err)
	}
	var r *row
	if err == nil {
		r, err = decode(found)
	}
	return r, s.rows.OpError(method, k, err)
}

// decode returns the row of a lease. Others may have stored anything there.
func decode(found engine.Reserved) (*row, error) {
	columns, stamp := found.Row.Columns(), found.Row.Timestamp
	property := func(name string, kind edm.Kind) (edm.Value, error) {
		v := stored.Find(columns, name)
		if v.Kind != kind {
			return v, &table.DecodeError{Field: name, Reason: fmt.Sprintf("is %v; a row of a lease has an %v", v.Kind, kind)}
		}
		return v, nil
	}
	owner, err1 := property(propertyOwner, edm.String)
	nonce, err2 := property(propertyNonce, edm.String)
	fence, err3 := property(propertyFence, edm.Int64)
	seconds, err4 := property(propertySeconds, edm.Int64)
	released := stored.Find(columns, propertyReleased)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	r := &row{owner: owner.S, nonce: nonce.S, fence: fence.I, timeToLive: time.Duration(seconds.I) * time.Second, released: released.I == 1, etag: found.Row.ETag}
	switch {
	case fence.I < 1 || fence.I == mostFence:
		return nil, &table.DecodeError{Field: propertyFence, Reason: fmt.Sprintf("is %d; fences begin with 1, and each is less than %d", fence.I, int64(mostFence))}
	case seconds.I < 1 || seconds.I > int64(mostTimeToLive/time.Second):
		return nil, &table.DecodeError{Field: propertySeconds, Reason: fmt.Sprintf("is %d; a lease lasts from 1 to %d seconds", seconds.I, int64(mostTimeToLive/time.Second))}
	case released.Kind != edm.Absent && released.Kind != edm.Bool:
		return nil, &table.DecodeError{Field: propertyReleased, Reason: fmt.Sprintf("is %v; it must be an %v", released.Kind, edm.Bool)}
	case found.Date.IsZero():
		return nil, &table.DecodeError{Reason: "has no Date, so that the age of the lease is not known; a proxy may have removed it"}
	case stamp.IsZero():
		return nil, &table.DecodeError{Field: edm.Timestamp, Reason: "is missing, so that the age of the lease is not known"}
	case r.etag == "":
		return nil, &table.DecodeError{Reason: "has no ETag"}
	}
	r.age = max(found.Date.Sub(stamp), 0)
	return r, nil
}

// store stores the row of a lease for a new holder, in place of the version that has the ETag was,
// or as a new row if was is "". 1 request.
func (s *Leases) store(ctx context.Context, method string, l *Lease, was azcore.ETag) (azcore.ETag, error) {
	op := &engine.Op{Table: s.rows, Method: method, Kind: aztables.TransactionTypeUpdateReplace, Match: was}
	if was == "" {
		op.Kind = aztables.TransactionTypeAdd
	}
	return send(ctx, op, l.name, []edm.Column{
		{Name: propertyOwner, Value: edm.Value{Kind: edm.String, S: s.owner}},
		{Name: propertyFence, Value: edm.Value{Kind: edm.Int64, I: l.fence}},
		{Name: propertyNonce, Value: edm.Value{Kind: edm.String, S: l.nonce}},
		{Name: propertySeconds, Value: edm.Value{Kind: edm.Int64, I: int64(s.timeToLive / time.Second)}},
	})
}

// merge merges a property into the row of a lease, by its ETag. 1 request.
func (l *Lease) merge(ctx context.Context, method string, t *engine.Table, was azcore.ETag, c edm.Column) (azcore.ETag, error) {
	op := &engine.Op{Table: t, Method: method, Kind: aztables.TransactionTypeUpdateMerge, Match: was}
	return send(ctx, op, l.name, []edm.Column{c})
}

// send sends an operation on the row of a lease, and returns its new ETag. The operation stores no
// operation ID: the nonce tells whose the row is.
func send(ctx context.Context, op *engine.Op, name string, columns []edm.Column) (azcore.ETag, error) {
	op.Key = keyOf(name)
	w := edm.NewWriter(op.Key.PartitionKey(), op.Key.RowKey(), len(columns))
	for _, c := range columns {
		w.Put(c.Name, c.Value)
	}
	var to written
	op.Body, op.Err = w.Finish()
	op.Target = &to
	err := op.Send(ctx)
	return to.etag, err
}

// written is the ETag of a row that was written.
type written struct{ etag azcore.ETag }

// Usable implements engine.Target.
func (*written) Usable() error { return nil }

// Applied implements engine.Target.
func (w *written) Applied(etag azcore.ETag, _ edm.Stored) { w.etag = etag }

// SetInDoubt implements engine.Target.
func (*written) SetInDoubt(bool) {}

// isOpen reports whether the row tells what has become of a write: it was refused because the row
// is another one, or its outcome is unknown.
func isOpen(err error) bool {
	return errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrUnknownOutcome)
}
