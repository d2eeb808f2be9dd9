package eventual

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// Job is one effect to execute; see package extend.
type Job = extend.Job

// Change is what a write changes of one entity: Key, and Old and New, the entity before and after
// it. Old is nil for an insert, and New for a delete. Inserted tells of a new entity, MovedFrom and
// MovedTo of a move to another key; see package extend.
type Change[T any] = extend.Change[T]

// Effect is work that follows from the writes of a table, with its handler: a definition for
// aztablekit.Table.
type Effect[T any] struct {
	kind       string
	stored     error // why the payload cannot be stored
	maintainer extend.Maintainer[T]
	handle     func(ctx context.Context, j Job) error
}

// On is an effect of the writes of a table. For each entity that changes, when says whether the
// effect is due, and with what payload, which is stored as JSON with the entity. c.Old is nil for
// an insert, and c.New for a delete. A move to another key (table.Table.Move) calls when twice: for
// a delete, of which c.MovedTo is the new key, and for an insert, of which c.MovedFrom is the old
// one. when must be pure, because a write may be planned several times. A worker calls do for it,
// at least once; see [extend.Handler].
//
//	mail := eventual.On("mail", func(c *eventual.Change[Employee]) (string, bool) {
//		return c.Key.RowKey(), c.Inserted() // an employee of another department is not new
//	}, send)
//
// do runs again whenever another effect of the same write has failed, or waits for workers of a
// newer release, so that a release with a new kind starts its workers before its writers.
// OperationID, Kind and Key of the [Job] are the same each time: an idempotency key.
//
// If the workers of another program execute the effect, do is nil. A store with such an effect runs
// no worker, unless its options name the kind; see aztablekit.Options. Errors, returned by the
// store and by the handle of the table: *table.ValueError for an empty kind and for a nil when;
// *table.TypeError for a payload with a largeentity.Blob. Requests: see the package documentation.
func On[T, P any](kind string, when func(c *Change[T]) (payload P, due bool), do func(ctx context.Context, j Job, payload P) error) *Effect[T] {
	e := &Effect[T]{kind: kind, stored: edm.CheckStoredJSON(reflect.TypeFor[P]())}
	if when != nil {
		e.maintainer = bare.OnChange(kind, when)
	}
	if do != nil {
		e.handle = bare.NewHandler(kind, nil, do).Handle
	}
	return e
}

// Name returns the kind.
func (e *Effect[T]) Name() string { return e.kind }

// Define adds the effect to the declaration of a table; aztablekit.Table calls it.
func (e *Effect[T]) Define(d *extend.Declaration[T]) error {
	if e.maintainer == nil {
		return &table.ValueError{Field: "when", Reason: "is nil; give a function that says which changes have the effect"}
	}
	if e.stored != nil {
		return e.stored
	}
	if err := d.Maintain(e.maintainer); err != nil {
		return err
	}
	return host.Needs(d, func(t table.Handle) (host.Parts, error) {
		return host.Parts{Handlers: []host.Handler{{Kind: e.kind, Table: t, Handle: e.handle}}}, nil
	})
}

// Poison returns an error for an effect that can never be executed: its message is moved to the
// poison queue.
func Poison(err error) error {
	if err == nil {
		err = errNoReason
	}
	return &bare.PoisonError{Err: err}
}

// retryError is a handler's error that defers the message.
type retryError struct {
	delay time.Duration
	err   error
}

func (r *retryError) Error() string { return fmt.Sprintf("retry after %v: %v", r.delay, r.err) }
func (r *retryError) Unwrap() error { return r.err }

// RetryAfter returns an error for an effect that is to be executed later, such as after another
// service's limit has passed: in whole seconds, up to 7 days. It does not count as an attempt.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		err = errNoReason
	}
	return &retryError{d, err}
}

var errNoReason = errors.New("the handler gave no reason")

// callHandler calls a function of a handler with a time limit, if that is positive. It returns a
// panic as an error.
func callHandler(ctx context.Context, timeout time.Duration, kind string, f func(context.Context) error) (err error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the handler of kind %q panicked: %v\n%s", kind, r, debug.Stack())
		}
	}()
	return f(ctx)
}

// registry contains the handlers of a worker by table. The case of table names is ignored.
type registry map[string]*tableHandlers

// tableHandlers are the handlers of one table by the kind of their effects.
type tableHandlers struct {
	table      table.Handle
	records    *records.Records
	byKind     map[string]host.Handler
	alsoWrites []string // the names of other tables, in lower case
}

func newRegistry(handlers []host.Handler) (registry, error) {
	all := registry{}
	for i, h := range handlers {
		fail := func(reason string) (registry, error) {
			return nil, &table.ValueError{Field: fmt.Sprintf("handlers[%d]", i), Reason: reason}
		}
		switch {
		case h.Kind == "":
			return fail("has no Kind; set the kind of its effects")
		case h.Handle == nil:
			return fail("has no Handle; set the function that executes an effect")
		case wire.IsNil(h.Table):
			return fail("has no Table; set the table whose writes have the effects")
		}
		if err := engine.CheckHandle(fmt.Sprintf("handlers[%d].Table", i), door.Table(h.Table)); err != nil {
			return nil, err
		}
		t := all.tableHandlers(h.Table.Name())
		if t == nil {
			t = &tableHandlers{table: h.Table, records: records.Of(h.Table), byKind: map[string]host.Handler{}}
			all[strings.ToLower(h.Table.Name())] = t
		}
		if !door.Table(t.table).Same(door.Table(h.Table)) {
			return fail(fmt.Sprintf("has another client for table %q than an earlier handler; use one client for all handlers of a table", h.Table.Name()))
		}
		if _, exists := t.byKind[h.Kind]; exists {
			return fail(fmt.Sprintf("is the second handler of kind %q for table %q; a table has one handler for each kind", h.Kind, h.Table.Name()))
		}
		h.Version = cmp.Or(h.Version, 1)
		t.byKind[h.Kind] = h
		for _, m := range door.Table(h.Table).Mode.Maintainers {
			if w, is := m.Typed().(host.AlsoWriter); is {
				h.AlsoWrites = append(slices.Clip(h.AlsoWrites), w.AlsoWrites()...)
			}
		}
		for _, name := range h.AlsoWrites {
			t.alsoWrites = append(t.alsoWrites, strings.ToLower(name))
		}
	}
	return all, nil
}

// handler returns the handler of a kind, if there is one.
func (t *tableHandlers) handler(kind string) (h host.Handler, known bool) {
	if t == nil {
		return host.Handler{}, false
	}
	h, known = t.byKind[kind]
	if !known && kind == engine.ParticipantsEffect {
		return bare.Transactions(t.table), true
	}
	return h, known
}

// tableHandlers returns the handlers of a table, nil if there are none.
func (r registry) tableHandlers(tableName string) *tableHandlers {
	return r[strings.ToLower(tableName)]
}

// partitionName returns a name for the partition of a message, "" for a message that does not count
// to a partition.
func (r registry) partitionName(m *receivedMessage) string {
	if m.err != nil || m.message.Hour != "" || r.tableHandlers(m.message.Table) == nil {
		return ""
	}
	return m.message.partitionName()
}

// history is what workers store in a message about its deliveries.
type history struct {
	Uncounted    int64      `json:"uncounted,omitempty"` // deliveries that count neither as an attempt nor as a crash
	Failed       int64      `json:"tried,omitempty"`     // failed attempts
	Isolated     int64      `json:"alone,omitempty"`     // executions in isolation that did not end
	Outages      int64      `json:"away,omitempty"`      // latest uncounted deliveries in a row for which storage was down
	UnknownSince *time.Time `json:"since,omitempty"`     // when a worker first did not know the table, kind or version, or read that the write's clock is ahead
}

// plausible returns the history without counts that the number of deliveries contradicts. A message
// is not trusted: with a forged count, a message could remain new for ever.
func (h history) plausible(deliveries int64) history {
	left := deliveries - 1 // no count includes the current delivery
	for _, count := range []*int64{&h.Uncounted, &h.Failed, &h.Isolated} {
		if *count < 0 || *count > left {
			*count = 0
		}
		left -= *count
	}
	h.Outages = max(0, min(h.Outages, h.Uncounted))
	return h
}

// withHistory returns the text of a message with another history. Other properties are kept,
// because the message may be of a later version. The text is returned unchanged if the message has
// no room for the history.
func withHistory(text string, h history) string {
	all := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(plainText(text)), &all) != nil {
		return text
	}
	before := len(all)
	for name := range all { // package json ignores the case of names when it reads them
		if slices.ContainsFunc([]string{"uncounted", "tried", "alone", "away", "since"}, func(s string) bool { return strings.EqualFold(name, s) }) {
			delete(all, name)
		}
	}
	if h == (history{}) && before == len(all) {
		return text
	}
	for name, count := range map[string]int64{"uncounted": h.Uncounted, "tried": h.Failed, "alone": h.Isolated, "away": h.Outages} {
		if count > 0 {
			all[name], _ = json.Marshal(count)
		}
	}
	if h.UnknownSince != nil {
		all["since"], _ = json.Marshal(h.UnknownSince)
	}
	b, err := json.Marshal(all)
	if err != nil {
		return text
	}
	if s := asciiJSON(string(b)); encodedLength(s) <= maxMessage {
		return s
	}
	return text
}

// pace measures how long executions take, to expect how many messages a pool begins within a time.
type pace struct {
	average time.Duration // of the latest executions
	last    time.Time     // when the latest execution ended
}

// add adds an execution that ends now.
func (p *pace) add(now time.Time, took time.Duration) {
	took = max(took, 1)
	if !p.last.IsZero() {
		took = p.average + (took-p.average)/8
	}
	p.average, p.last = took, now
}

// expect returns how many messages a number of handlers begin within a time, but at most most. If
// no execution has ended for that long, expect returns 0: the running handlers may be slower than
// those before.
func (p *pace) expect(now time.Time, handlers int, within time.Duration, most int) int {
	if p.last.IsZero() || now.Sub(p.last) > within {
		return 0
	}
	return int(min(float64(handlers)*float64(within)/float64(p.average), float64(most)))
}
