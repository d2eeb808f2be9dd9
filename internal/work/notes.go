package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Note says that commit records or abort records of operations of a day may be in a partition of a
// table. A program stores it before the first of these records, and the work of each day deletes it
// behind the last. Its PartitionKey is the day and one of 16 shards, and its RowKey a digest: the
// names of a table and a partition may be longer than a key.
type Note struct {
	Table, Partition string
	Day              time.Time // the beginning

	key  keys.Key
	etag azcore.ETag
}

const (
	dayFormat         = "20060102"
	propertyTable     = "Table"
	propertyPartition = "Partition"
)

// End returns the end of the day.
func (n Note) End() time.Time { return n.Day.AddDate(0, 0, 1) }

// place is the digest of a table, whose case the service ignores, and a partition.
type place [16]byte

func placeOf(table, partition string) place {
	sum := sha256.Sum256([]byte(strings.ToLower(table) + "/" + partition))
	return place(sum[:16])
}

// memory contains the notes that this process has stored, to save requests.
type memory struct {
	mu     sync.Mutex
	days   map[string]map[place]bool
	denied string // the day on which the client had no right to write notes
}

// The most days and notes that a process remembers. A note that is forgotten is stored again.
const (
	mostDays  = 3
	mostNotes = 100_000
)

func (m *memory) knows(day string, p place) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.denied == day || m.days[day][p]
}

func (m *memory) learn(day string, p place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.days == nil || len(m.days) > mostDays {
		m.days = map[string]map[place]bool{}
	}
	if m.days[day] == nil || len(m.days[day]) >= mostNotes {
		m.days[day] = map[place]bool{}
	}
	m.days[day][p] = true
}

// deny remembers for a day that the client may not write notes, and reports whether that is new.
func (m *memory) deny(day string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := m.denied != day
	m.denied = day
	return first
}

// dayOf returns the day of an operation.
func dayOf(id string) (string, error) {
	began, err := commit.TimeOf(id)
	return began.UTC().Format(dayFormat), err
}

// Noted implements engine.RecordNotes.
func (t *Table) Noted(table, partition, id string) bool {
	day, err := dayOf(id)
	return err == nil && t.notes.knows(day, placeOf(table, partition))
}

// Note implements engine.RecordNotes. A client with a signature for another table alone may not
// store notes: its records wait for those of other programs. 1 request.
func (t *Table) Note(ctx context.Context, table, partition, id string) error {
	day, err := dayOf(id)
	if err != nil {
		return err
	}
	p := placeOf(table, partition)
	if t.notes.knows(day, p) {
		return nil
	}
	k := keys.Raw(fmt.Sprintf("%s_%02d", day, p[0]%16), hex.EncodeToString(p[:]))
	_, err = t.send(ctx, "NoteRecords", aztables.TransactionTypeInsertReplace, k, "", text(propertyTable, table), text(propertyPartition, partition))
	if Denied(err) {
		if log := t.rows.Options.Logger; t.notes.deny(day) && log != nil {
			log.WarnContext(ctx, "the client may not store notes of commit records, so that other programs have to find them", "table", t.rows.Name)
		}
		return nil
	}
	if err != nil {
		return err
	}
	t.notes.learn(day, p)
	return nil
}

// Notes yields all notes, by their days. A row that is no note yields an error, and the list goes
// on. 1 request for each 1,000 notes, and up to 16 for each day.
func (t *Table) Notes(ctx context.Context) iter.Seq2[Note, error] {
	return func(yield func(Note, error) bool) {
		stopped := false
		filter := fmt.Sprintf("%s ge '0' and %s lt ':'", edm.PartitionKey, edm.PartitionKey)
		err := t.rows.Physical(ctx, filter, "", func(in edm.Entity, columns []edm.Column) bool {
			n, err := noteOf(in, columns)
			stopped = !yield(n, err)
			return !stopped
		}, nil)
		if err != nil && !stopped {
			yield(Note{}, t.rows.OpError("Notes", keys.Key{}, err))
		}
	}
}

// Denied reports whether an error says that the client has no right to the table.
func Denied(err error) bool {
	var re *azcore.ResponseError
	return errors.As(err, &re) && re.StatusCode == http.StatusForbidden
}

// noteOf reads a note from its row. Another program may have stored the row.
func noteOf(in edm.Entity, columns []edm.Column) (n Note, err error) {
	k := keys.Raw(in.PartitionKey, in.RowKey)
	day, _, _ := strings.Cut(in.PartitionKey, "_")
	n = Note{Table: stored.Find(columns, propertyTable).S, Partition: stored.Find(columns, propertyPartition).S, key: k, etag: azcore.ETag(in.ETag)}
	if n.Day, err = time.Parse(dayFormat, day); err == nil && n.Table == "" {
		err = errors.New("it names no table")
	}
	if err != nil {
		err = fmt.Errorf("the row %v is no note of commit records; delete it: %w", k, err)
	}
	return n, err
}

// Drop deletes a note, unless it was stored again meanwhile. 1 request.
func (t *Table) Drop(ctx context.Context, n Note) error {
	return t.delete(ctx, "DropNote", n.key, n.etag)
}
