package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/property"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ID names an archived entity: a key and one incarnation of it. An entity that is deleted and
// inserted again, or restored, has another incarnation, so that late work for the first incarnation
// never changes the second.
type ID struct {
	Key         keys.Key
	Incarnation string
}

// Err checks the ID. Errors: *keys.KeyError for an invalid key; *table.ValueError if the
// incarnation is not 16 characters of 0-9 and A-Z. A destination that makes paths, keys or
// addresses of IDs should call Err first. The IDs of a [Mover] have no error.
func (id ID) Err() error {
	if err := id.Key.Err(); err != nil {
		return err
	}
	if len(id.Incarnation) != incarnationLength || strings.Trim(id.Incarnation, incarnationDigits) != "" {
		reason := fmt.Sprintf("is %.20q; an incarnation has %d characters of 0-9 and A-Z", id.Incarnation, incarnationLength)
		return &table.ValueError{Field: "ID.Incarnation", Reason: reason}
	}
	return nil
}

// An incarnation has the form of the texts of a store's Options.NewID.
const (
	incarnationDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	incarnationLength = 16
)

// ArchivedRow is what a destination stores for an ID.
type ArchivedRow struct {
	ID

	// Row is the entity's row, with all its columns and under its own key. A nil Row is a
	// tombstone: the destination contained the row before, and a late request cannot bring it back.
	Row *table.Row

	// Kind is the kind of the mover. Movers of several tables, and of several types, may share a
	// destination.
	Kind string

	// Moves are the operation IDs of the moves that have stored the row.
	Moves []string

	// Version changes with each Put.
	Version string

	// Time is when the row was last written in the table that it comes from, by that table's clock.
	// The newest incarnation of a key has the latest time. Put stores the time and Get returns it.
	Time time.Time
}

// tombstone returns the tombstone that replaces the row.
func (r *ArchivedRow) tombstone() *ArchivedRow {
	return &ArchivedRow{ID: r.ID, Kind: r.Kind, Moves: r.Moves, Time: r.Time}
}

// Destination stores moved entities: a table ([ToTable]), the blobs of package blobarchive, a
// directory, or anything else that can write a value on condition of its version. It must be safe
// for concurrent use.
//
// A destination may also have these methods:
//
//   - Ensure(context.Context) error creates what does not exist. The Ensure of a store calls it.
//   - List(context.Context, keys.PartitionKey) iter.Seq2[*ArchivedRow, error] yields the stored
//     rows of a partition's entities, of all kinds, without tombstones. For a row that no move has
//     stored, it yields table.ErrForeignRow and goes on. Mover.Archived needs it.
//   - Check(*ArchivedRow) error returns the error that Put will return for a row, if it is known
//     without a request.
//   - Sweep(context.Context, keys.PartitionKey, time.Time) error deletes the tombstones of a
//     partition that were stored before a time.
//
// An error that wraps table.ErrUnreachable means that the destination cannot be used now, as when a
// disk is full: the worker defers the move until the destination can be used. Any other error
// counts as one of WorkerOptions.Attempts, after which the message is poison.
type Destination interface {
	// Get returns the row or tombstone of an ID, or nil if none was stored. For a row that no move
	// has stored, the error is table.ErrForeignRow.
	Get(ctx context.Context, id ID) (*ArchivedRow, error)

	// Put stores r if version is the version that is stored for r.ID, or "" if none was stored.
	// Otherwise the error is table.ErrChanged. When Put returns, r must be durable: the mover
	// deletes the row from its table next. An error that wraps a *table.LimitError,
	// *table.ValueError or *keys.KeyError means that r can never be stored. A destination may
	// delete a tombstone after a day and an hour (for clocks that differ).
	Put(ctx context.Context, r *ArchivedRow, version string) error

	// Incarnations yields the stored rows of a key, of all kinds and in any order, without
	// tombstones.
	Incarnations(ctx context.Context, k keys.Key) iter.Seq2[*ArchivedRow, error]
}

// checker, lister and sweeper are destinations with the other methods.
type (
	checker interface{ Check(r *ArchivedRow) error }
	lister  interface {
		List(ctx context.Context, partition keys.PartitionKey) iter.Seq2[*ArchivedRow, error]
	}
	sweeper interface {
		Sweep(ctx context.Context, partition keys.PartitionKey, before time.Time) error
	}
)

// separator stands between the RowKey and the incarnation of a stored row. No key of package keys
// contains it.
const separator = reserved.First

// storedKey returns the key under which a table stores an archived row.
func (id ID) storedKey() keys.Key {
	return keys.Raw(id.Key.PartitionKey(), id.Key.RowKey()+separator+id.Incarnation)
}

// The projection ID of a stored row consists of one of these words, the kind, the time, and the
// operation IDs of the moves.
const (
	wordRow       = "row"
	wordTombstone = "gone"
)

// encode returns the row that a table stores for an archived row.
func (r *ArchivedRow) encode() *table.Row {
	word, row := wordRow, r.Row
	if row == nil {
		word, row = wordTombstone, &table.Row{}
	}
	words := append([]string{word, url.QueryEscape(r.Kind), r.Time.UTC().Format(time.RFC3339Nano)}, r.Moves...)
	from := (*stored.Row)(row).WithoutSystemProperties()
	from.Key = r.Key
	return (*table.Row)(from.Copy(r.storedKey(), strings.Join(words, " ")))
}

// decodeArchivedRow returns the archived row that a table stores as row. All incarnations have the
// same length, so a stored key belongs to one entity and one incarnation only. Errors:
// table.ErrForeignRow; *table.DecodeError for a row that another program has stored again with
// other types.
func decodeArchivedRow(row *table.Row) (*ArchivedRow, error) {
	if _, err := property.Text(row, reserved.Owner); err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	primary, isCopy := (*stored.Row)(row).Primary()
	incarnation, ok := strings.CutPrefix(row.Key.RowKey(), primary.RowKey()+separator)
	id := ID{primary, incarnation}
	words := strings.Split((*stored.Row)(row).ProjectionID(), " ")
	if !isCopy || !ok || id.Err() != nil || len(words) < 3 || words[0] != wordRow && words[0] != wordTombstone {
		return nil, fmt.Errorf("destination: %w: %v", table.ErrForeignRow, row.Key)
	}
	kind, kindErr := url.QueryUnescape(words[1])
	at, timeErr := time.Parse(time.RFC3339Nano, words[2])
	if kindErr != nil || timeErr != nil {
		return nil, fmt.Errorf("destination: %w: %v", table.ErrForeignRow, row.Key)
	}
	r := &ArchivedRow{ID: id, Kind: kind, Moves: words[3:], Version: string(row.ETag), Time: at}
	if words[0] == wordRow {
		r.Row = (*table.Row)((*stored.Row)(row).WithoutSystemProperties())
		r.Row.Key, r.Row.ETag = primary, ""
	}
	return r, nil
}

// tombstoneProperty of a tombstone's note contains the RowKey of the tombstone.
const tombstoneProperty = "Gone"

// tombstoneNote returns the note by which Sweep finds a tombstone.
func tombstoneNote(id ID) (*table.Row, error) {
	note := &table.Row{Key: keys.Raw(id.Key.PartitionKey(), reserved.Tombstone+id.Incarnation)}
	return note, note.Set(tombstoneProperty, id.storedKey().RowKey())
}

// decodeTombstoneNote returns the key of the tombstone that a note names. ok reports whether an
// archived entity can have this tombstone; otherwise another program wrote the note.
func decodeTombstoneNote(note *table.Row) (tombstone keys.Key, ok bool) {
	rowKey, err := property.Text(note, tombstoneProperty)
	primary, ok := strings.CutSuffix(rowKey, separator+strings.TrimPrefix(note.Key.RowKey(), reserved.Tombstone))
	ok = ok && err == nil && primary != "" && !strings.HasPrefix(primary, separator)
	return keys.Raw(note.Key.PartitionKey(), rowKey), ok
}

// rowsWithPrefix yields the rows of a partition whose RowKeys begin with a prefix.
func rowsWithPrefix(ctx context.Context, t *table.Table[table.Row], partition keys.PartitionKey, prefix string) iter.Seq2[*table.Row, error] {
	return t.Rows(ctx, table.Query[table.Row]{Partition: partition, Rows: keyrange.Stored(prefix, prefix+"\x7f")})
}

// Options are the options of [ToTable] and of blobarchive.New. The zero value of each field is its
// default.
type Options struct {
	// Common bounds the requests for the destination. Defaults, field by field, to that of the
	// store.
	table.Common

	// Account is the storage account of the destination. Defaults to that of the store.
	Account host.Account
}

// ToTable returns a destination in a table, of the store of the table whose entities move. It
// stores each row in the partition that the row comes from, under its RowKey with ~ and the
// incarnation appended: empid_000456~01K9…. The property _sys names the entity, the mover's kind
// and the moves. Movers of several tables may share a destination. Errors, returned by the methods
// of the store: *table.ValueError or *table.LimitError for a name that no table can have or that
// something other than a destination has, and for a wrong option.
func ToTable(name string, o *Options) Destination {
	if o == nil {
		o = &Options{}
	}
	return &unplaced{&tableDestination{rows: door.Faulty[*table.Table[table.Row]](name, errUnplaced)}, name, *o}
}

var errUnplaced = &table.ValueError{Field: "to", Reason: "belongs to no store yet: give a mover to it to aztablekit.Table"}

// unplaced is a destination in a table of a store that is not known yet.
type unplaced struct {
	*tableDestination
	name string
	opt  Options
}

// In returns the destination in a store.
func (u *unplaced) In(h *host.Host) (Destination, error) {
	in := bare.InAccount(h, u.opt.Account)
	t, err := bare.NewTable(in.Tables, in.TableName(u.name), table.Schema[table.Row]{}, &table.Options{Common: in.Options(u.opt.Common)})
	if err != nil {
		return nil, err
	}
	door.Table(t).Made = "Store.Ensure"
	return &tableDestination{door.Rows[table.Table[table.Row]](door.Table(t), true), u.opt.Account}, nil
}

// tableDestination is a destination in a table.
type tableDestination struct {
	rows *table.Table[table.Row]
	in   host.Account // nil for that of the store
}

// Place tells the destination apart from others.
func (d *tableDestination) Place() string {
	return bare.Place("table "+strings.ToLower(d.rows.Name()), d.in)
}

// Tables returns the table, unless it is of another account.
func (d *tableDestination) Tables() []string {
	if d.in != nil {
		return nil
	}
	return []string{d.rows.Name()}
}

// withParts returns the destination for entities with so many parts (table.Schema.Parts).
func (d *tableDestination) withParts(parts int) *tableDestination {
	if parts <= door.Table(d.rows).Mode.Parts {
		return d
	}
	return &tableDestination{door.InMode(d.rows, func(m *engine.Mode) { m.Parts = parts }), d.in}
}

// Ensure creates the table unless it exists.
func (d *tableDestination) Ensure(ctx context.Context) error { return door.Table(d.rows).Ensure(ctx) }

// Get returns the row or tombstone of an incarnation, or nil if none was stored. 1 request. Errors:
// table.ErrForeignRow; table.ErrNotDeclared if the handle of the mover has no parts;
// *table.DecodeError for a row that another program has stored again with other types;
// *keys.KeyError or *table.ValueError for an invalid ID; errors of a read (see package table).
func (d *tableDestination) Get(ctx context.Context, id ID) (stored *ArchivedRow, err error) {
	if err := id.Err(); err != nil {
		return nil, fmt.Errorf("archive: Get: %w", err)
	}
	ctx, end := door.Table(d.rows).Span(ctx, "Get")
	defer func() { end(err) }()
	row, err := tabledoor.FindRow(ctx, d.rows, id.storedKey())
	if err != nil || row == nil {
		return nil, err
	}
	return d.decode(row)
}

// decode is decodeArchivedRow for a row of the table. A row of which the parts were not read is an
// error.
func (d *tableDestination) decode(row *table.Row) (*ArchivedRow, error) {
	if err := d.checkParts(row); err != nil {
		return nil, err
	}
	return decodeArchivedRow(row)
}

// checkParts returns an error for a row of which the parts were not read.
func (d *tableDestination) checkParts(row *table.Row) error {
	if door.Table(d.rows).Mode.Parts == 0 && row.Type(reserved.Parts) != "" {
		return fmt.Errorf("destination: %w: %v", errs.ErrUnknownParts, row.Key)
	}
	return nil
}

// maxKey is the most UTF-16 code units of a key ('Understanding the Table service data model').
const maxKey = 512

var errNilRow = &table.ValueError{Field: "r", Reason: "is nil"}

// Check returns an error for a row that cannot be stored: the stored RowKey is 17 characters longer
// than the entity's, and the stored row has one property more. Errors: *table.LimitError;
// *table.ValueError if r is nil. No request.
func (d *tableDestination) Check(r *ArchivedRow) error {
	if r == nil {
		return errNilRow
	}
	row := r.encode()
	if n := len(utf16.Encode([]rune(row.Key.RowKey()))); n > maxKey {
		return &table.LimitError{Field: "RowKey", Limit: "characters with its incarnation", Got: n, Max: maxKey}
	}
	return d.rows.InsertOp(row).Err()
}

// Put stores a row or a tombstone. 1 request. Errors: table.ErrChanged if another version is
// stored; *table.LimitError for a row that is too large; *keys.KeyError or *table.ValueError for an
// invalid ID, and *table.ValueError if r is nil; table.ErrUnknownOutcome, table.ErrUnreachable and
// the other errors of a write (see package table).
func (d *tableDestination) Put(ctx context.Context, r *ArchivedRow, version string) error {
	if r == nil {
		return fmt.Errorf("archive: Put: %w", errNilRow)
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("archive: Put: %w", err)
	}
	row := r.encode()
	var op table.Op
	if version == "" {
		op = d.rows.InsertOp(row)
	} else {
		e, err := d.rows.Entity(row)
		if err != nil {
			return err
		}
		e.ETag = azcore.ETag(version)
		op = d.rows.ReplaceOp(e)
	}
	ops := []table.Op{op}
	if r.Row == nil {
		note, err := tombstoneNote(r.ID)
		if err != nil {
			return err
		}
		ops = append(ops, d.rows.UpsertOp(note, table.ReplaceExisting))
	}
	_, err := table.Transact(ctx, ops...)
	if errors.Is(err, table.ErrExists) || version != "" && errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("%w: %w", table.ErrChanged, err)
	}
	return err
}

// Incarnations yields the stored rows of a key, without tombstones. 1 request. Errors:
// table.ErrNotDeclared; *table.DecodeError for a row that another program has stored again with
// other types; errors of a read (see package table).
func (d *tableDestination) Incarnations(ctx context.Context, k keys.Key) iter.Seq2[*ArchivedRow, error] {
	return func(yield func(*ArchivedRow, error) bool) {
		for row, err := range rowsWithPrefix(ctx, d.rows, k.Partition(), k.RowKey()+separator) {
			if err != nil {
				yield(nil, err)
				return
			}
			// A row of another key that begins with this one, or of another program, is not this
			// key's.
			r, err := decodeArchivedRow(row)
			var damaged *table.DecodeError
			if errors.As(err, &damaged) {
				yield(nil, err)
				return
			}
			if err != nil || r.Row == nil || r.Key.RowKey() != k.RowKey() {
				continue
			}
			if err := d.checkParts(row); err != nil {
				yield(nil, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// lastRowKey sorts after every RowKey that a program can have stored. The service orders keys by
// UTF-16 code units: U+FFFF is the greatest, and characters beyond it sort before U+E000.
var lastRowKey = strings.Repeat("\uFFFF", 16)

// List yields the stored rows of a partition's entities, in the order of their RowKeys, without
// tombstones. 1 request for each 1000 rows. Errors: table.ErrForeignRow, table.ErrNotDeclared or
// *table.DecodeError for a row that cannot be read, after which the list continues; errors of a
// read (see package table).
func (d *tableDestination) List(ctx context.Context, partition keys.PartitionKey) iter.Seq2[*ArchivedRow, error] {
	return func(yield func(*ArchivedRow, error) bool) {
		for row, err := range d.rows.Rows(ctx, table.Query[table.Row]{Partition: partition, Rows: keyrange.Stored("", lastRowKey)}) {
			if err != nil {
				yield(nil, err)
				return
			}
			if strings.HasPrefix(row.Key.RowKey(), reserved.First) || row.Type(reserved.Part) != "" {
				continue // the note of a tombstone, or a part, which a destination without parts lists on its own
			}
			r, err := d.decode(row)
			if err == nil && r.Row == nil {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Sweep deletes the tombstones from before a time. 1 request for each 1000 tombstones, and 1 for
// each 50 that it deletes. Errors: *table.BatchError around an error of a write; errors of a read
// (see package table).
func (d *tableDestination) Sweep(ctx context.Context, partition keys.PartitionKey, before time.Time) error {
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for note, err := range rowsWithPrefix(ctx, d.rows, partition, reserved.Tombstone) {
			if err != nil {
				yield(table.Op{}, err)
				return
			}
			tombstone, ok := decodeTombstoneNote(note)
			if !ok || !note.Timestamp.Before(before) {
				continue
			}
			// The note is deleted last: without it no sweep finds the tombstone.
			if !yield(d.rows.DeleteAnyOp(tombstone), nil) || !yield(d.rows.DeleteAnyOp(note.Key), nil) {
				return
			}
		}
	}, nil)
	return err
}
