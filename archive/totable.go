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

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Rows are a destination: a table that holds archived rows as they were, in the same partitions, under RowKeys that end with ~ and
// the life: empid_000456~01K9…. The property _sys of each says whose it is. It is safe for concurrent use.
type Rows struct{ rows *table.Table[table.Row] }

var (
	_ Destination = (*Rows)(nil)
	_ Checker     = (*Rows)(nil)
	_ Lister      = (*Rows)(nil)
	_ Sweeper     = (*Rows)(nil)
)

// ToTable makes a destination of a table, of the same service or another. It sends nothing. Errors are those of [table.New].
func ToTable(service table.Service, name string, o *table.Options) (*Rows, error) {
	t, err := table.New(service, name, table.Schema[table.Row]{}, o)
	if err != nil {
		return nil, err
	}
	return &Rows{t.Untyped(true)}, nil
}

// Ensure creates the table unless it exists. 1 request; idempotent.
func (d *Rows) Ensure(ctx context.Context) error { return d.rows.Ensure(ctx) }

// separator stands between a RowKey and a life. It is in no key that package keys makes.
const separator = reserved.First

// The forms of rows here; the kind, the time, and the names of the moves follow.
const (
	formRow  = "row"
	formGone = "gone"
)

// reserved.Tombstone begins the RowKeys of notes that a life has gone, by which Sweep finds what is left of it.
const (
	goneProperty = "Gone"
)

func (id ID) stored() keys.Key {
	return keys.Stored(id.Key.PartitionKey(), id.Key.RowKey()+separator+id.Incarnation)
}

// Get reads what is kept of an incarnation. 1 request. Errors: ErrForeign; those of [ID.Err].
func (d *Rows) Get(ctx context.Context, id ID) (*ArchivedRow, error) {
	if err := id.Err(); err != nil {
		return nil, fmt.Errorf("archive: Get: %w", err)
	}
	row, err := d.rows.GetRow(ctx, id.stored())
	switch {
	case errors.Is(err, table.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return kept(row)
}

// kept reads what a row keeps. As incarnations have one length, the row's key tells whose it is in one way only.
func kept(row *table.Row) (*ArchivedRow, error) {
	primary, is := row.Primary()
	life, ok := strings.CutPrefix(row.Key.RowKey(), primary.RowKey()+separator)
	words := strings.Split(row.ProjectionID(), " ")
	if !is || !ok || (ID{primary, life}).Err() != nil || len(words) < 3 || words[0] != formRow && words[0] != formGone {
		return nil, fmt.Errorf("%w: %v", ErrForeign, row.Key)
	}
	kind, err := url.QueryUnescape(words[1])
	at, terr := time.Parse(time.RFC3339Nano, words[2])
	if err != nil || terr != nil {
		return nil, fmt.Errorf("%w: %v", ErrForeign, row.Key)
	}
	k := &ArchivedRow{ID: ID{primary, life}, Kind: kind, Moves: words[3:], Version: string(row.ETag), Time: at}
	if words[0] == formRow {
		k.Row = row.WithoutSystemProperties()
		k.Row.Key, k.Row.ETag = primary, ""
	}
	return k, nil
}

// stored is the row that keeps k.
func (k *ArchivedRow) stored() *table.Row {
	form, row := formRow, k.Row
	if row == nil {
		form, row = formGone, &table.Row{}
	}
	words := append([]string{form, url.QueryEscape(k.Kind), k.Time.UTC().Format(time.RFC3339Nano)}, k.Moves...)
	return row.WithoutSystemProperties().At(k.Key).Copy(k.ID.stored(), strings.Join(words, " "))
}

// maxKey is the most UTF-16 code units of a key ('Understanding the Table service data model').
const maxKey = 512

// Check tells whether a row can be stored: its RowKey is 17 characters longer here, and it has a property more. Errors:
// *table.LimitError.
func (d *Rows) Check(k *ArchivedRow) error {
	row := k.stored()
	if n := len(utf16.Encode([]rune(row.Key.RowKey()))); n > maxKey {
		return &table.LimitError{Field: "RowKey", Limit: "characters of a key with the life behind it", Got: n, Max: maxKey}
	}
	return d.rows.InsertAtOp(row.Key, row).Err()
}

// Put keeps a row, or that it has gone. 1 request. Errors: those of [ID.Err], beside those of Destination.
func (d *Rows) Put(ctx context.Context, k *ArchivedRow, version string) error {
	if err := k.Err(); err != nil {
		return fmt.Errorf("archive: Put: %w", err)
	}
	row := k.stored()
	var op table.Op
	if version == "" {
		op = d.rows.InsertAtOp(row.Key, row)
	} else {
		e, err := d.rows.WholeRow(row)
		if err != nil {
			return err
		}
		e.ETag = azcore.ETag(version)
		op = d.rows.ReplaceOp(e)
	}
	ops := []table.Op{op}
	if k.Row == nil {
		note := &table.Row{Key: keys.Stored(k.Key.PartitionKey(), reserved.Tombstone+k.Incarnation)}
		if err := note.Set(goneProperty, row.Key.RowKey()); err != nil {
			return err
		}
		ops = append(ops, d.rows.UpsertAtOp(note.Key, note, table.ReplaceExisting))
	}
	_, err := table.Transact(ctx, ops...)
	if errors.Is(err, table.ErrExists) || version != "" && errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("%w: %w", table.ErrChanged, err)
	}
	return err
}

// Lives yields what is kept under a key. 1 request.
func (d *Rows) Incarnations(ctx context.Context, k keys.Key) iter.Seq2[*ArchivedRow, error] {
	return d.list(ctx, table.Query[table.Row]{Partition: k.Partition(), Rows: keys.StoredBetween(k.RowKey()+separator, k.RowKey()+separator+"\x7f")}, k.RowKey())
}

// last is behind every RowKey that other programs may have made: the service orders keys by UTF-16 code units, of which U+FFFF is the
// greatest, and what lies beyond it sorts below U+E000.
var last = strings.Repeat("\uFFFF", 16)

// List yields what is kept of a partition's entities, in the order of their RowKeys. 1 request for each 1000.
func (d *Rows) List(ctx context.Context, partition keys.Enc) iter.Seq2[*ArchivedRow, error] {
	return d.list(ctx, table.Query[table.Row]{Partition: partition, Rows: keys.StoredBetween("", last)}, "")
}

func (d *Rows) list(ctx context.Context, q table.Query[table.Row], only string) iter.Seq2[*ArchivedRow, error] {
	return func(yield func(*ArchivedRow, error) bool) {
		for row, err := range d.rows.Rows(ctx, q) {
			if err != nil {
				yield(nil, err)
				return
			}
			if strings.HasPrefix(row.Key.RowKey(), separator) {
				continue // a note
			}
			k, err := kept(row)
			if err == nil && (k.Row == nil || only != "" && k.Key.RowKey() != only) {
				continue
			}
			if err != nil && only != "" {
				continue // of a key that looks alike
			}
			if !yield(k, err) {
				return
			}
		}
	}
}

// Sweep forgets what has had no row since before a time. 1 request for each 1000, and 1 for each 50 that are deleted.
func (d *Rows) Sweep(ctx context.Context, partition keys.Enc, before time.Time) error {
	pk, err := partition.Result()
	if err != nil {
		return err
	}
	_, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for note, err := range d.rows.Rows(ctx, table.Query[table.Row]{Partition: partition, Rows: keys.StoredBetween(reserved.Tombstone, reserved.Tombstone+"\x7f")}) {
			if err != nil {
				yield(table.Op{}, err)
				return
			}
			gone, _ := note.Get(goneProperty)
			name, _ := gone.(string)
			primary, is := strings.CutSuffix(name, separator+strings.TrimPrefix(note.Key.RowKey(), reserved.Tombstone))
			if !note.Timestamp.Before(before) || !is || primary == "" || strings.HasPrefix(primary, separator) {
				continue
			}
			// The note last: it is what tells of the other.
			if !yield(d.rows.DeleteAnyOp(keys.Stored(pk, name)), nil) || !yield(d.rows.DeleteAnyOp(note.Key), nil) {
				return
			}
		}
	}, nil)
	return err
}
