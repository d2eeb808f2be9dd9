package txn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// isCopy reports whether an entity was read from a copy, which has no ETag of the entity.
func isCopy[T any](t *table.Table[T], e *table.Entity[T]) bool {
	return errors.Is(tabledoor.PinOp(t, e).Err(), errs.ErrNoETag)
}

// sameWrite reports whether a copy and an entity are of the same write.
func sameWrite[T any](a, b *table.Entity[T]) bool {
	first, err1 := a.Row()
	second, err2 := b.Row()
	if err1 != nil || err2 != nil {
		return false
	}
	id, has := first.Get(reserved.OperationID)
	other, _ := second.Get(reserved.OperationID)
	return has && id == other
}

// note ends a read, and notes what was read of a row: an entity, or with table.ErrNotFound none. It
// returns errConflict if the function has read another version of it.
func note[T any](tx *Tx, h *engine.Table, t *table.Table[T], k keys.Key, e *table.Entity[T], err error) error {
	defer tx.end()
	if err != nil && (!errors.Is(err, errs.ErrNotFound) || errors.Is(err, errs.ErrTableNotFound)) {
		return nil
	}
	r := &read{}
	if err == nil {
		r.etag, r.entity = e.ETag, e
		r.keep = func() *engine.Op { return door.Op(tabledoor.PinOp(t, e)) }
	} else {
		r.keep = func() *engine.Op { return h.ReserveOp("Get", k) }
	}
	r.again = func(ctx context.Context) (azcore.ETag, error) {
		e, err := t.Get(ctx, k)
		if errors.Is(err, errs.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		return e.ETag, nil
	}
	at := placeOf(h, k)
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.ended {
		return errEnded
	}
	if was := tx.reads[at]; was != nil {
		if was.etag != r.etag {
			tx.again = errConflict
			return errConflict
		}
		tx.overlapped = true // it was read before
		return nil
	}
	tx.add(h, at)
	tx.reads[at], tx.last = r, at
	return nil
}

// readInserts reads the rows of inserts that the function has not read, at the same time. The error
// is that of an insert of what exists, or of a read.
func (tx *Tx) readInserts() error {
	var unread []place
	for _, at := range tx.order {
		if op := tx.writes[at]; op != nil && op.Inserts() && tx.reads[at] == nil {
			unread = append(unread, at)
		}
	}
	var failed error
	i := 0
	engine.InOrder(tx.run.spanned, unread, func(ctx context.Context, at place) (azcore.ETag, error) {
		op := tx.writes[at]
		return op.Table.Version(ctx, op.Method, at.key)
	}, func(etag azcore.ETag, err error) bool {
		at := unread[i]
		i++
		op := tx.writes[at]
		switch {
		case err != nil:
			failed = err
		case etag != "": // the error goes by this row
			failed = op.Table.OpError(op.Method, op.Key, errs.ErrExists)
			tx.reads[at], tx.last = &read{ // no other of these rows counts
				etag:  etag,
				again: func(ctx context.Context) (azcore.ETag, error) { return op.Table.Version(ctx, op.Method, at.key) },
				keep:  func() *engine.Op { return op.Table.PinOp(op.Method, at.key, etag) },
			}, at
		}
		return failed == nil
	})
	return failed
}

// confirm finds out whether all that a function has read that writes nothing was true at one
// moment. err is what the function has returned.
func (tx *Tx) confirm(err error) (conflict, _ error) {
	if len(tx.reads) > 1 && tx.run.ctx.Err() != nil { // nothing says that they are of one moment
		return nil, unconfirmed(err, context.Cause(tx.run.ctx))
	}
	var there, absent []*read
	for _, at := range tx.order {
		r := tx.reads[at]
		switch {
		case r == nil || len(tx.reads) == 1 && !tx.refused:
		case r.etag == "":
			absent = append(absent, r)
		case at != tx.last:
			there = append(there, r)
		}
	}
	last := tx.reads[tx.last]
	if tx.overlapped && len(tx.reads) > 1 || tx.refused { // none was read when all others had been
		if last != nil && last.etag != "" {
			there = append(there, last)
		}
		last = nil
	}
	switch {
	case len(absent) > 1:
		return tx.keepAll(err)
	case len(absent) == 1 && absent[0] != last: // it is read again, so that the moment is this one; the last one that exists was read before
		if last != nil {
			there = append(there, last)
		}
		if conflict, failed := tx.unchanged(absent); conflict != nil || failed != nil {
			return conflict, unconfirmed(err, failed)
		}
	}
	if conflict, failed := tx.unchanged(there); conflict != nil || failed != nil {
		return conflict, unconfirmed(err, failed)
	}
	return nil, err
}

// unconfirmed returns why the reads of a function could not be looked at again. Its own error may
// go by what was never so at one moment, and is only a text.
func unconfirmed(err, why error) error {
	if err == nil {
		return why
	}
	return fmt.Errorf("txn: Run: not confirmed: %v: %w", err, why)
}

// unchanged reads rows again, at the same time. conflict is not nil if one has changed.
func (tx *Tx) unchanged(all []*read) (conflict, err error) {
	g, ctx := errgroup.WithContext(tx.run.spanned)
	g.SetLimit(engine.FanOut)
	for _, r := range all {
		g.Go(func() error {
			etag, err := r.again(ctx)
			if err == nil && (etag != r.etag || etag == stored.UnknownETag) {
				err = errConflict
			}
			return err
		})
	}
	err = g.Wait()
	if errors.Is(err, errConflict) || errors.Is(err, errs.ErrGivenUp) {
		return err, err
	}
	return nil, err
}

// keepAll is confirm for a function that has read several rows as absent: only a transaction that
// reserves them can tell whether they were so at one moment.
func (tx *Tx) keepAll(err error) (conflict, _ error) {
	tx.writes = map[place]*engine.Op{}
	tx.order = slices.DeleteFunc(tx.order, func(at place) bool { return tx.reads[at] == nil })
	conflict, failed := tx.commit()
	switch {
	case conflict != nil, failed == nil:
		return conflict, err
	}
	return nil, unconfirmed(err, failed)
}
