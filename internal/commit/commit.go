// Package commit declares commit records and what stands in them, operation IDs and notifications,
// for the packages that write and read them. Package extend names its types again for authors of
// definitions. docs/writes.md describes the protocol.
package commit

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
)

// Retention is how long commit records are kept at least. The record of an older write may be
// deleted, so a missing record does not prove that the write was not applied. Pending records are
// never deleted.
const Retention = 24 * time.Hour

// State is the state of a commit record.
type State int

// The states of a commit record. A write is committed if its commit record is pending or done. An
// aborted commit record is an abort record.
const (
	Pending State = iota + 1 // effects are still to be executed
	Done                     // there are no effects, or all were executed
	Aborted                  // the write was not committed and never will be
)

var states = [...]string{Pending: "pending", Done: "done", Aborted: "aborted"}

// String returns the state as it is stored.
func (s State) String() string {
	if s <= 0 || int(s) >= len(states) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return states[s]
}

// ParseState returns the state that is stored as a text, 0 for none.
func ParseState(text string) State {
	for s := Pending; s <= Aborted; s++ {
		if text == states[s] {
			return s
		}
	}
	return 0
}

// Record is the commit record of an exact write or of a write with effects: a row in its partition,
// stored in the write's own transaction. With the state Aborted it is the abort record, which
// stands in the place of a commit record.
type Record struct {
	Partition   keys.PartitionKey
	OperationID string
	State       State
	Effects     []Effect

	etag azcore.ETag // of its row
	wait Wait
	skew time.Duration
}

// Wait is why a message of a pending record does not come yet. A repair of lost messages passes
// such a record over.
type Wait struct {
	NotBefore time.Time // the effects are not due before; zero for effects that are due
	Message   string    // the ID of the message that waits until then
	Until     time.Time // until when the record is passed over
}

// WaitOf returns why the messages of a record wait, and SetWait sets it.
func WaitOf(r *Record) Wait     { return r.wait }
func SetWait(r *Record, w Wait) { r.wait = w }

// NowBy returns the time by the clock of the service, as known from the response that contained the
// record. SetSkew sets by how much that clock was ahead of the program's.
func NowBy(r *Record, now time.Time) time.Time { return now.Add(r.skew) }
func SetSkew(r *Record, skew time.Duration)    { r.skew = skew }

// ETagOf returns the ETag of a record's row, and SetETag sets it. They are no methods, because
// programs have no use for them.
func ETagOf(r *Record) azcore.ETag        { return r.etag }
func SetETag(r *Record, etag azcore.ETag) { r.etag = etag }

// Version changes with each change of the record.
func (r *Record) Version() string { return string(r.etag) }

// Time returns when the write began, in milliseconds, by the writer's clock. Writes of one
// millisecond are in no order.
func (r *Record) Time() time.Time { t, _ := TimeOf(r.OperationID); return t }

// String returns the partition, the operation ID, the state and the effects without their payloads,
// for programs that print a record.
func (r Record) String() string {
	return fmt.Sprintf("%s %s %s %v", r.Partition, r.OperationID, r.State, r.Effects)
}

// LogValue returns what String prints, for slog. It is on the pointer, which methods return and
// which may be nil after an error.
func (r *Record) LogValue() slog.Value {
	if r == nil {
		return slog.Value{}
	}
	effects := make([]string, len(r.Effects))
	for n, e := range r.Effects {
		effects[n] = e.String()
	}
	return slog.GroupValue(slog.Any("partition", r.Partition), slog.String("operation", r.OperationID), slog.String("state", r.State.String()), slog.Any("effects", effects))
}

// Effect is work that is due outside the partition once a write is committed.
type Effect struct {
	Kind    string // of handler
	Version int    // of the payload's form
	RowKey  string // of the entity whose change it follows from
	Payload []byte

	// Table and Partition are the entity's, if it is in another partition than the commit record,
	// as after table.Table.Move. Otherwise they are empty.
	Table, Partition string
}

// String returns the kind, the version, the RowKey and the length of the payload, for programs that
// print an effect. The payload itself may be private.
func (e Effect) String() string {
	return fmt.Sprintf("%s version %d of %s, %d bytes", e.Kind, e.Version, e.RowKey, len(e.Payload))
}

// LogValue returns the attributes that String prints, for slog.
func (e Effect) LogValue() slog.Value {
	return slog.GroupValue(slog.String("kind", e.Kind), slog.Int("version", e.Version), slog.String("row", e.RowKey), slog.Int("bytes", len(e.Payload)))
}

// Outbox notifies workers of writes that have effects. Package eventual has an outbox that is a
// queue. An outbox must be safe for concurrent use.
type Outbox interface {
	// Notify stores a notification, before the write is sent, so that it is not lost if the writer
	// crashes. Workers find it when Notification.Hidden has passed. If Notify fails, the write
	// fails before anything is written.
	Notify(ctx context.Context, n Notification) (SentNotification, error)
}

// Notification names a write that has effects. It contains no effects: a worker reads them from the
// commit record, by records.Records.Resolve. If there is no commit record, Resolve makes sure that
// the write never commits.
type Notification struct {
	Table       string
	Partition   string
	OperationID string
	Hidden      time.Duration // workers must not see it for that long, unless Show is called

	// Participants are the other partitions of a write over several, such as table.Table.Move: a
	// worker finishes there what the write has prepared, or rolls it back.
	Participants []Place
}

// Place is a partition of a table. The places of a write are of one service.
type Place struct {
	Table     string `json:"table"`
	Partition string `json:"partition"`
}

// Folded returns the place in the form in which the same places are equal: the service ignores the
// case of a table's name.
func (p Place) Folded() Place { return Place{strings.ToLower(p.Table), p.Partition} }

// Same reports whether two places are one.
func (p Place) Same(other Place) bool { return p.Folded() == other.Folded() }

// Check returns an error for a place that no row can have. Errors: *ValueError, *LimitError,
// *KeyError.
func (p Place) Check() error {
	if err := edm.CheckTableName(p.Table); err != nil {
		return err
	}
	return keys.Raw(p.Partition, "r").Err()
}

// SentNotification is a notification that an outbox has stored.
type SentNotification interface {
	// Show makes the notification visible to workers: the write is committed. If Show fails, they
	// see it when Notification.Hidden has passed. Show may run in another goroutine than Notify,
	// beside later calls of Notify, but never after the end of the method that writes.
	Show(context.Context) error
	// Withdraw deletes the notification: the write was refused. If Withdraw fails, a worker finds
	// nothing to do.
	Withdraw(context.Context) error
}

// Orphans says what becomes of an orphan: rows that a write over several partitions has prepared,
// and whose commit record cannot be read, because its table is gone, or is none of the store.
type Orphans int

// The values of Orphans.
const (
	LeaveOrphans    Orphans = iota // they stay
	CommitOrphans                  // as if the write had committed: no entity of a move is lost
	RollBackOrphans                // as if the write had been given up: forged rows are removed
)

// An operation ID: 10 digits of time in milliseconds, so that IDs sort by time, and 16 random
// characters, both in the digits of Crockford's base 32.
const (
	Digits     = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	timeDigits = 10
	IDLength   = timeDigits + RandomLength

	// RandomLength is the number of random characters, and the length of an incarnation.
	RandomLength = 16
)

// IsID reports whether a text has the form that Options.NewID makes, as every incarnation has.
func IsID(s string) bool {
	return len(s) == RandomLength && strings.Trim(s, Digits+"ILOU") == ""
}

// IDTime returns the beginning of the operation IDs of a time.
func IDTime(t time.Time) string { return string(AppendIDTime(nil, t)) }

// AppendIDTime appends what IDTime returns.
func AppendIDTime(b []byte, t time.Time) []byte {
	ms := uint64(max(t.UnixMilli(), 0))
	for i := timeDigits - 1; i >= 0; i-- {
		b = append(b, Digits[ms>>(5*i)&31])
	}
	return b
}

// GUID returns an operation ID as rows contain it, in the 128 bits that its digits have; I and L
// are 1 there, O is 0, and U is V. A text that is no operation ID has some GUID too.
func GUID(id string) (g [16]byte) {
	var bits uint64 // the lowest n are not in g yet
	n, at := 0, 0
	for i := range min(len(id), IDLength) {
		bits = bits<<5 | digit(id[i])
		n += 5
		if i == 0 {
			n = 3 // 26 digits have 130 bits, but no time needs the first 2
		}
		if n >= 8 {
			n -= 8
			g[at] = byte(bits >> n)
			at++
		}
	}
	return g
}

// IDOf returns the operation ID of a GUID, of the digits that NewID makes.
func IDOf(g [16]byte) string {
	var id [IDLength]byte
	hi, lo := binary.BigEndian.Uint64(g[:8]), binary.BigEndian.Uint64(g[8:])
	for i := IDLength - 1; i >= 0; i-- {
		id[i] = Digits[lo&31]
		hi, lo = hi>>5, lo>>5|hi<<59
	}
	return string(id[:])
}

func digit(c byte) uint64 {
	switch c {
	case 'I', 'L':
		return 1
	case 'O':
		return 0
	case 'U':
		c = 'V'
	}
	return uint64(max(strings.IndexByte(Digits, c), 0))
}

// TimeOf returns the time of an operation ID. Errors: *errs.ValueError for a text that is none.
func TimeOf(id string) (time.Time, error) {
	var ms int64
	bad := len(id) != IDLength || id[0] > '7' || strings.Trim(id, Digits+"ILOU") != ""
	for i := 0; i < timeDigits && !bad; i++ {
		d := strings.IndexByte(Digits, id[i])
		bad = d < 0
		ms = ms<<5 | int64(d)
	}
	if bad {
		return time.Time{}, &errs.ValueError{Field: "operation ID", Reason: "is no operation ID"}
	}
	return time.UnixMilli(ms).UTC(), nil
}
