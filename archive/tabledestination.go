package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/bulk"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TableDestination is a destination in a table. It stores each row in the partition that the row comes from, under its RowKey with
// ~ and the incarnation appended: empid_000456~01K9…. The property _sys names the entity, the mover's kind and the moves. A
// TableDestination is safe for concurrent use.
type TableDestination struct{ rows *table.Table[table.Row] }

var (
	_ Destination = (*TableDestination)(nil)
	_ Checker     = (*TableDestination)(nil)
	_ Lister      = (*TableDestination)(nil)
	_ Sweeper     = (*TableDestination)(nil)
)

// ToTable returns a destination in a table, of the same service or another. It sends nothing. Errors are those of [table.New].
func ToTable(service table.Service, name string, o *table.Options) (*TableDestination, error) {
	t, err := table.New(service, name, table.Schema[table.Row]{}, o)
	if err != nil {
		return nil, err
	}
	t.Engine().Made = "TableDestination.Ensure"
	return &TableDestination{table.RowsOf(t.Engine(), true)}, nil
}

// withParts returns the destination for entities with parts, as of table.Schema.Parts.
func (d *TableDestination) withParts(parts int) *TableDestination {
	if parts <= d.rows.Engine().Mode.Parts {
		return d
	}
	return &TableDestination{d.rows.InMode(func(m *engine.Mode) { m.Parts = parts })}
}

// Ensure creates the table unless it exists. 1 request; idempotent.
func (d *TableDestination) Ensure(ctx context.Context) error { return d.rows.Ensure(ctx) }

// Get returns what is stored for an incarnation, or nil if nothing ever was. 1 request. Errors: table.ErrForeignRow;
// *table.DecodeError for a row that another program has stored again with other types; those of [ID.Err].
func (d *TableDestination) Get(ctx context.Context, id ID) (stored *ArchivedRow, err error) {
	if err := id.Err(); err != nil {
		return nil, fmt.Errorf("archive: Get: %w", err)
	}
	ctx, end := d.rows.Engine().Span(ctx, "Get")
	defer func() { end(err) }()
	row, err := d.rows.GetRow(ctx, id.storedKey())
	switch {
	case errors.Is(err, table.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return d.decode(row)
}

// decode is decodeArchivedRow for a row of the table. A row of which the parts were not read is an error.
func (d *TableDestination) decode(row *table.Row) (*ArchivedRow, error) {
	if err := d.checkParts(row); err != nil {
		return nil, err
	}
	return decodeArchivedRow(row)
}

// checkParts returns the error of a row of which the parts were not read.
func (d *TableDestination) checkParts(row *table.Row) error {
	if d.rows.Engine().Mode.Parts == 0 && row.Type(reserved.Parts) != "" {
		return fmt.Errorf("destination: %w: %v", table.ErrUnknownParts, row.Key)
	}
	return nil
}

// isPart reports whether a row is a part of another, which a destination without parts lists on its own.
func isPart(row *table.Row) bool { return row.Type(reserved.Part) != "" }

// maxKey is the most UTF-16 code units of a key ('Understanding the Table service data model').
const maxKey = 512

var errNilRow = &table.ValueError{Field: "r", Reason: "is nil"}

// Check returns the error of a row that cannot be stored: the stored RowKey is 17 characters longer than the entity's, and the
// stored row has one property more. Errors: *table.LimitError. No request.
func (d *TableDestination) Check(r *ArchivedRow) error {
	if r == nil {
		return errNilRow
	}
	row := r.encode()
	if n := len(utf16.Encode([]rune(row.Key.RowKey()))); n > maxKey {
		return &table.LimitError{Field: "RowKey", Limit: "characters with its incarnation", Got: n, Max: maxKey}
	}
	return d.rows.InsertAtOp(row.Key, row).Err()
}

// Put stores a row or a tombstone. 1 request. Errors: those of [ID.Err] and of [Destination].
func (d *TableDestination) Put(ctx context.Context, r *ArchivedRow, version string) error {
	if r == nil {
		return fmt.Errorf("archive: Put: %w", errNilRow)
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("archive: Put: %w", err)
	}
	row := r.encode()
	var op table.Op
	if version == "" {
		op = d.rows.InsertAtOp(row.Key, row)
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
		record, err := tombstoneRecord(r.ID)
		if err != nil {
			return err
		}
		ops = append(ops, d.rows.UpsertAtOp(record.Key, record, table.ReplaceExisting))
	}
	_, err := table.Transact(ctx, ops...)
	if errors.Is(err, table.ErrExists) || version != "" && errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("%w: %w", table.ErrChanged, err)
	}
	return err
}

// Incarnations yields what is stored under a key, without tombstones. 1 request. Errors: table.ErrUnknownParts; *table.DecodeError for
// a row that another program has stored again with other types.
func (d *TableDestination) Incarnations(ctx context.Context, k keys.Key) iter.Seq2[*ArchivedRow, error] {
	return func(yield func(*ArchivedRow, error) bool) {
		for row, err := range rowsWithPrefix(ctx, d.rows, k.Partition(), k.RowKey()+separator) {
			if err != nil {
				yield(nil, err)
				return
			}
			// A row of another key that begins with this one, or of another program, is not this key's.
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

// lastRowKey sorts after every RowKey that a program can have stored. The service orders keys by UTF-16 code units: U+FFFF is the
// greatest, and characters beyond it sort before U+E000.
var lastRowKey = strings.Repeat("\uFFFF", 16)

// List yields what is stored of a partition's entities, in the order of their RowKeys, without tombstones. 1 request for each 1000
// rows.
func (d *TableDestination) List(ctx context.Context, partition keys.Enc) iter.Seq2[*ArchivedRow, error] {
	return func(yield func(*ArchivedRow, error) bool) {
		for row, err := range d.rows.Rows(ctx, table.Query[table.Row]{Partition: partition, Rows: keys.StoredBetween("", lastRowKey)}) {
			if err != nil {
				yield(nil, err)
				return
			}
			if strings.HasPrefix(row.Key.RowKey(), reserved.First) || isPart(row) {
				continue // a tombstone record
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

// Sweep deletes the tombstones from before a time. 1 request for each 1000 tombstones, and 1 for each 50 that it deletes.
func (d *TableDestination) Sweep(ctx context.Context, partition keys.Enc, before time.Time) error {
	_, err := bulk.Run(ctx, func(yield func(table.Op, error) bool) {
		for record, err := range rowsWithPrefix(ctx, d.rows, partition, reserved.Tombstone) {
			if err != nil {
				yield(table.Op{}, err)
				return
			}
			tombstone, ok := decodeTombstoneRecord(record)
			if !ok || !record.Timestamp.Before(before) {
				continue
			}
			// The record is deleted last: without it no sweep finds the tombstone.
			if !yield(d.rows.DeleteAnyOp(tombstone), nil) || !yield(d.rows.DeleteAnyOp(record.Key), nil) {
				return
			}
		}
	}, nil)
	return err
}
