package blobarchive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Options are the options of a destination. The zero value is ready for use.
type Options struct {
	// Common bounds the requests: WriteTimeout bounds Put with all its attempts, ReadTimeout each response to a read, and Retry the
	// attempts. NewID makes the IDs of Puts. OmitOperationID and Tracing have no effect.
	table.Common
}

// Destination is a destination of moves in a container. It is safe for concurrent use.
type Destination struct{ client client }

var (
	_ archive.Destination = (*Destination)(nil)
	_ archive.Checker     = (*Destination)(nil)
	_ archive.Lister      = (*Destination)(nil)
	_ archive.Sweeper     = (*Destination)(nil)
)

// New declares a destination in a container of a store. It sends nothing: the Ensure of a store
// with a mover to it creates the container. Zero fields of Options.Common are those of the store.
// Errors, returned by the methods of the store and of the destination: *table.ValueError for a nil
// store, an account without blobs, a name that no container can have, and for a declaration after
// a method of the store was called.
func New(s extend.Store, name string, o *Options) *Destination {
	h := host.Of(s)
	var opt Options
	if o != nil {
		opt = *o
	}
	in, err := h.Container(name)
	if err != nil {
		err = fmt.Errorf("blobarchive: New %s: %w", name, err)
	}
	err = h.Declare("destination "+name, host.Parts{}, err)
	return &Destination{client{in, engine.Options(h.Options(opt.Common)).WithDefaults(), err}}
}

// Err returns the mistake in the declaration of the destination, nil if there is none.
func (d *Destination) Err() error {
	if d == nil || d.client.container == nil && d.client.fault == nil {
		return &table.ValueError{Field: "to", Reason: "is nil or a zero Destination; use one of New"}
	}
	return d.client.fault
}

// Ensure creates the container unless it exists. Errors: table.ErrUnreachable. 1 request; idempotent.
func (d *Destination) Ensure(ctx context.Context) error {
	if err := d.Err(); err != nil {
		return err
	}
	if err := blobs.Ensure(ctx, d.client.container, &d.client.opt, refusal); err != nil {
		return fmt.Errorf("blobarchive: Ensure: %w", err)
	}
	return nil
}

// Get returns the row or tombstone of an incarnation, or nil if none was stored. 1 request. Errors: table.ErrForeignRow;
// table.ErrUnreachable, as for a missing container, which is also ErrContainerNotFound; *keys.KeyError or *table.ValueError for
// an invalid ID; *table.LimitError for keys that make a name of more than 1,024 characters.
func (d *Destination) Get(ctx context.Context, id archive.ID) (*archive.ArchivedRow, error) {
	row, err := d.get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("blobarchive: Get: %w", err)
	}
	return row, nil
}

func (d *Destination) get(ctx context.Context, id archive.ID) (*archive.ArchivedRow, error) {
	if err := cmp.Or(d.Err(), errors.Join(id.Err(), checkName(id))); err != nil {
		return nil, err
	}
	s, err := d.client.read(ctx, id)
	if s == nil || err != nil {
		return nil, err
	}
	return s.row, nil
}

// Check returns an error for a row that cannot be stored. Errors: *table.LimitError for keys that make a name of more than 1,024
// characters, or for a row that is too large; *keys.KeyError for an invalid key; *table.ValueError for an invalid incarnation or
// value, or if r is nil; table.ErrUnknownParts for the head of an entity that was read without its parts. No request.
func (d *Destination) Check(r *archive.ArchivedRow) error {
	_, err := d.body(r, "")
	return err
}

// body checks a row and returns the content of its blob.
func (d *Destination) body(r *archive.ArchivedRow, put string) ([]byte, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	if r == nil {
		return nil, &table.ValueError{Field: "r", Reason: "is nil"}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if err := checkName(r.ID); err != nil {
		return nil, err
	}
	return encode(r, put)
}

// Put stores a row or a tombstone. Errors: table.ErrChanged; table.ErrUnknownOutcome if the row may be stored or not;
// table.ErrUnreachable, as for a missing container, which is also ErrContainerNotFound; *table.LimitError, *table.ValueError,
// *keys.KeyError and table.ErrUnknownParts for a row that cannot be stored, as in Check. 1 request, and 1 more for each lost
// response. If another version is stored, 1 more request reports whether Put has stored it.
func (d *Destination) Put(ctx context.Context, r *archive.ArchivedRow, version string) error {
	if err := d.put(ctx, r, version); err != nil {
		return fmt.Errorf("blobarchive: Put: %w", err)
	}
	return nil
}

func (d *Destination) put(ctx context.Context, r *archive.ArchivedRow, version string) error {
	id := d.client.opt.NewID()
	body, err := d.body(r, id)
	switch {
	case err != nil:
		return err
	case !commit.IsID(id):
		return &table.ValueError{Field: "Common.NewID", Reason: "must make 16 of the characters 0-9 and A-Z"}
	case version != "" && !isETag(version): // such as *, which every blob has
		return fmt.Errorf("%w: %.40q is no version of a blob", table.ErrChanged, version)
	}
	ctx, cancel := engine.Bound(ctx, d.client.opt.WriteTimeout)
	defer cancel()
	doubtful := false // an attempt whose outcome is unknown may have stored the row, or may still store it
	err = engine.Retry(d.client.opt.Retry).Repeat(ctx, engine.Log{}, func() (again bool, err error) {
		call, err := d.client.put(ctx, r, body, version)
		outcome := call.Outcome(err)
		switch {
		case outcome == wire.Done:
			doubtful = false
			return false, nil
		case outcome == wire.Refused && isConflict(err):
			own, readErr := d.contains(ctx, r.ID, id)
			switch {
			case readErr != nil:
				doubtful = true
				return ctx.Err() == nil, readErr
			case !own: // and no attempt can store the row any more
				err = errs.With(table.ErrChanged, err)
			default:
				err = nil // an earlier attempt has stored it, or the network has repeated this one
			}
			doubtful = false
			return false, err
		}
		doubtful = doubtful || outcome == wire.Unknown
		return outcome != wire.Refused && ctx.Err() == nil, refusal(call, err)
	})
	if err != nil && doubtful {
		return errs.With(table.ErrUnknownOutcome, err)
	}
	return err
}

// contains reports whether a Put has stored the blob for an ID.
func (d *Destination) contains(ctx context.Context, id archive.ID, put string) (bool, error) {
	s, err := d.client.read(ctx, id)
	if errors.Is(err, table.ErrForeignRow) {
		return false, nil
	}
	return s != nil && s.put == put, err
}

// isETag reports whether a version can be the ETag of a blob.
func isETag(version string) bool {
	inner, ok := strings.CutPrefix(version, `"`)
	inner, ok2 := strings.CutSuffix(inner, `"`)
	return ok && ok2 && inner != "" && strings.Trim(inner, "0123456789ABCDEFabcdefx") == ""
}

// Incarnations yields the stored rows of a key, without tombstones and foreign blobs. 1 request, and 1 for each incarnation.
// Errors: table.ErrUnreachable.
func (d *Destination) Incarnations(ctx context.Context, k keys.Key) iter.Seq2[*archive.ArchivedRow, error] {
	return func(yield func(*archive.ArchivedRow, error) bool) {
		if err := k.Err(); err != nil {
			yield(nil, fmt.Errorf("blobarchive: Incarnations: %w", err))
			return
		}
		for row, err := range d.list(ctx, prefixOfKey(k)) {
			switch {
			case errors.Is(err, table.ErrForeignRow):
				continue
			case err != nil:
				err = fmt.Errorf("blobarchive: Incarnations: %w", err)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// List yields the stored rows of a partition's entities, in the order of the names of the blobs, without tombstones. For a
// foreign blob it yields table.ErrForeignRow and goes on. 1 request for each 1,000 blobs, and 1 for each row, 10 at a time and up
// to 40 ahead of the loop. Errors: table.ErrUnreachable.
func (d *Destination) List(ctx context.Context, partition keys.PartitionKey) iter.Seq2[*archive.ArchivedRow, error] {
	return func(yield func(*archive.ArchivedRow, error) bool) {
		partitionKey, err := partition.Result()
		if err != nil {
			yield(nil, fmt.Errorf("blobarchive: List: %w", err))
			return
		}
		for row, err := range d.list(ctx, prefixOfPartition(partitionKey)) {
			if err != nil {
				err = fmt.Errorf("blobarchive: List: %w", err)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// list yields the rows in the blobs whose names begin with a prefix, without tombstones. After table.ErrForeignRow it goes on. It
// reads several blobs at a time.
func (d *Destination) list(ctx context.Context, prefix string) iter.Seq2[*archive.ArchivedRow, error] {
	return func(yield func(*archive.ArchivedRow, error) bool) {
		if err := d.Err(); err != nil {
			yield(nil, err)
			return
		}
		var batch []string
		stopped := false
		flush := func() bool {
			engine.InOrder(ctx, batch, d.readListed, func(row *archive.ArchivedRow, err error) bool {
				if row == nil && err == nil {
					return true // swept, or a tombstone since it was listed
				}
				stopped = !yield(row, err) || err != nil && !errors.Is(err, table.ErrForeignRow)
				return !stopped
			})
			batch = batch[:0]
			return !stopped
		}
		for b, err := range blobs.List(ctx, d.client.container, prefix, d.client.opt.ReadTimeout, refusal) {
			if err != nil {
				if flush() {
					yield(nil, err)
				}
				return
			}
			if isTombstone(b.Metadata) {
				continue
			}
			batch = append(batch, b.Name)
			if len(batch) == aheadOfLoop && !flush() {
				return
			}
		}
		flush()
	}
}

// aheadOfLoop is how many blobs a list reads before the caller has seen the first of them.
const aheadOfLoop = 4 * engine.FanOut

// readListed reads a blob of a list, nil if it does not contain a row any more.
func (d *Destination) readListed(ctx context.Context, name string) (*archive.ArchivedRow, error) {
	id, ok := parseName(name)
	if !ok {
		return nil, fmt.Errorf("%w: blob %q", table.ErrForeignRow, name)
	}
	s, err := d.client.read(ctx, id)
	if err != nil || s == nil || s.row.Row == nil {
		return nil, err
	}
	return s.row, nil
}

// Sweep deletes the tombstones of a partition from before a time, by the service's clock. 1 request for each 1,000 blobs of the
// partition, and 2 for each tombstone that it deletes. Errors: table.ErrUnreachable. Idempotent.
func (d *Destination) Sweep(ctx context.Context, partition keys.PartitionKey, before time.Time) error {
	fail := func(err error) error { return fmt.Errorf("blobarchive: Sweep: %w", err) }
	partitionKey, err := partition.Result()
	if err = cmp.Or(d.Err(), err); err != nil {
		return fail(err)
	}
	for b, err := range blobs.List(ctx, d.client.container, prefixOfPartition(partitionKey), d.client.opt.ReadTimeout, refusal) {
		if err != nil {
			return fail(err)
		}
		id, ok := parseName(b.Name)
		if !ok || !isTombstone(b.Metadata) || !b.Modified.Add(time.Second).Before(before) { // Modified has no fraction of a second
			continue
		}
		s, err := d.client.read(ctx, id) // metadata proves nothing: the content must be that of a tombstone
		switch {
		case errors.Is(err, table.ErrForeignRow), err == nil && (s == nil || s.row.Row != nil || s.row.Version != string(b.ETag)):
			continue
		case err == nil:
			err = d.client.delete(ctx, id, s.row.Version)
		}
		if err != nil {
			return fail(err)
		}
	}
	return nil
}
