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
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// New returns a destination in a container, of the store of the table whose entities move. Movers
// of several tables may share a destination. OmitOperationID and Tracing of the options have no
// effect. Errors, returned by the methods of the store: *table.ValueError for an account without
// blobs, and for a name that no container can have.
func New(name string, o *archive.Options) archive.Destination {
	u := &unplaced{destination: &destination{client: client{fault: errUnplaced}}, name: name}
	if o != nil {
		u.opt = *o
	}
	return u
}

var errUnplaced = &table.ValueError{Field: "to", Reason: "belongs to no store yet: give a mover to it to aztablekit.Table"}

// unplaced is a destination in a container of a store that is not known yet.
type unplaced struct {
	*destination
	name string
	opt  archive.Options
}

// In returns the destination in a store.
func (u *unplaced) In(h *host.Host) (archive.Destination, error) {
	in := bare.InAccount(h, u.opt.Account)
	c, err := in.Container(u.name)
	if err != nil {
		return nil, err
	}
	place := bare.Place("container "+u.name, u.opt.Account)
	return &destination{place, client{container: c, opt: engine.WithDefaults(in.Options(u.opt.Common))}}, nil
}

// destination is a destination of moves in a container.
type destination struct {
	place  string
	client client
}

// Place tells the destination apart from others.
func (d *destination) Place() string { return d.place }

// Ensure creates the container unless it exists.
func (d *destination) Ensure(ctx context.Context) error {
	if err := blobs.Ensure(ctx, d.client.container, &d.client.opt, refusal); err != nil {
		return fmt.Errorf("blobarchive: Ensure: %w", err)
	}
	return nil
}

// Get returns the row or tombstone of an incarnation, or nil if none was stored. 1 request. Errors:
// table.ErrForeignRow; table.ErrUnreachable, as for a missing container, which is also
// table.ErrNotCreated; *keys.KeyError or *table.ValueError for an invalid ID; *table.LimitError for
// keys that make a name of more than 1,024 characters.
func (d *destination) Get(ctx context.Context, id archive.ID) (*archive.ArchivedRow, error) {
	row, err := d.get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("blobarchive: Get: %w", err)
	}
	return row, nil
}

func (d *destination) get(ctx context.Context, id archive.ID) (*archive.ArchivedRow, error) {
	if err := cmp.Or(d.client.fault, errors.Join(id.Err(), checkName(id))); err != nil {
		return nil, err
	}
	s, err := d.client.read(ctx, id)
	if s == nil || err != nil {
		return nil, err
	}
	return s.row, nil
}

// Check returns an error for a row that cannot be stored.
//
// Errors:
//   - *table.LimitError for keys that make a name of more than 1,024 characters, or for a row that
//     is too large
//   - *keys.KeyError for an invalid key
//   - *table.ValueError for an invalid incarnation or value, or if r is nil
//   - table.ErrNotDeclared for the head of an entity that was read without its parts
//
// No request.
func (d *destination) Check(r *archive.ArchivedRow) error {
	_, err := d.body(r, "")
	return err
}

// body checks a row and returns the content of its blob.
func (d *destination) body(r *archive.ArchivedRow, put string) ([]byte, error) {
	if err := d.client.fault; err != nil {
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

// Put stores a row or a tombstone. Errors: table.ErrChanged; table.ErrUnknownOutcome if the row may
// be stored or not; table.ErrUnreachable, as for a missing container, which is also
// table.ErrNotCreated; *table.LimitError, *table.ValueError, *keys.KeyError and
// table.ErrNotDeclared for a row that cannot be stored, as in Check. 1 request, and 1 more for each
// lost response. If another version is stored, 1 more request reports whether Put has stored it.
func (d *destination) Put(ctx context.Context, r *archive.ArchivedRow, version string) error {
	if err := d.put(ctx, r, version); err != nil {
		return fmt.Errorf("blobarchive: Put: %w", err)
	}
	return nil
}

func (d *destination) put(ctx context.Context, r *archive.ArchivedRow, version string) error {
	if d.client.fault != nil {
		return d.client.fault
	}
	id := d.client.opt.NewID()
	body, err := d.body(r, id)
	switch {
	case err != nil:
		return err
	case !commit.IsID(id):
		return &table.ValueError{Field: "Options.NewID", Reason: "must make 16 of the characters 0-9 and A-Z"}
	case version != "" && !isETag(version): // such as *, which every blob has
		return fmt.Errorf("%w: %.40q is no version of a blob", table.ErrChanged, version)
	}
	ctx, cancel := engine.Bound(ctx, engine.Retry(d.client.opt.Retry).Timeout(ctx, d.client.opt.WriteTimeout))
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
func (d *destination) contains(ctx context.Context, id archive.ID, put string) (bool, error) {
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

// Incarnations yields the stored rows of a key, without tombstones and foreign blobs. 1 request,
// and 1 for each incarnation. Errors: table.ErrUnreachable.
func (d *destination) Incarnations(ctx context.Context, k keys.Key) iter.Seq2[*archive.ArchivedRow, error] {
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

// List yields the stored rows of a partition's entities, in the order of the names of the blobs,
// without tombstones. For a foreign blob it yields table.ErrForeignRow and goes on. 1 request for
// each 1,000 blobs, and 1 for each row, 10 at a time and up to 40 ahead of the loop. Errors:
// table.ErrUnreachable.
func (d *destination) List(ctx context.Context, partition keys.PartitionKey) iter.Seq2[*archive.ArchivedRow, error] {
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

// list yields the rows in the blobs whose names begin with a prefix, without tombstones. After
// table.ErrForeignRow it goes on. It reads several blobs at a time.
func (d *destination) list(ctx context.Context, prefix string) iter.Seq2[*archive.ArchivedRow, error] {
	return func(yield func(*archive.ArchivedRow, error) bool) {
		if err := d.client.fault; err != nil {
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
		for b, err := range blobs.List(ctx, d.client.container, prefix, &d.client.opt, refusal) {
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
func (d *destination) readListed(ctx context.Context, name string) (*archive.ArchivedRow, error) {
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

// Sweep deletes the tombstones of a partition from before a time, by the service's clock. 1 request
// for each 1,000 blobs of the partition, and 2 for each tombstone that it deletes. Errors:
// table.ErrUnreachable. Idempotent.
func (d *destination) Sweep(ctx context.Context, partition keys.PartitionKey, before time.Time) error {
	fail := func(err error) error { return fmt.Errorf("blobarchive: Sweep: %w", err) }
	partitionKey, err := partition.Result()
	if err = cmp.Or(d.client.fault, err); err != nil {
		return fail(err)
	}
	for b, err := range blobs.List(ctx, d.client.container, prefixOfPartition(partitionKey), &d.client.opt, refusal) {
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
