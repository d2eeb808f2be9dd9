package expire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Options of [At]. The zero value is for entities that share partitions of moderate number.
type Options struct {
	// Name is the name of the definition. Defaults to ends.
	Name string

	// Once is for values that count once, such as a code that is sent by mail: every write of the
	// table also stores a commit record, for a day, so that a copy of a request that arrives late
	// does not insert an entity again that was taken.
	Once bool

	// ManyPartitions is for tables with so many partitions that a sweep should not look into each
	// of them, such as one for each session. The partitions in which something ends are then kept
	// by hour, in a table of its own: the name of the table followed by that of the definition. A
	// write by which an entity gets an end in another hour takes 1 request more, before its
	// transaction. Entities from before the option have no such row: give a sweep
	// their partitions in Pass.Partitions.
	ManyPartitions bool
}

// Ends is the end of life of the entities of a table: a definition for aztablekit.Table. [At] makes
// one. It can be a package's variable, and is safe for concurrent use.
type Ends[T any] struct {
	c     *core
	hours *index.Index[T, int]
}

// core is Ends without their type parameter.
type core struct {
	at    func(v any) time.Time
	opt   Options
	fault error

	// due returns the keys of the entities of a partition that end in an hour or before.
	due func(ctx context.Context, t table.Handle, partition keys.PartitionKey, hour int) iter.Seq2[keys.Key, error]
}

// At defines when an entity ends. The zero time is no end, and so is the last second of the year
// 9999. A later time is an error of the write: at has taken milliseconds for seconds. Ends count in
// whole seconds, a part of one as a whole one. at must be pure: its result must
// depend on the entity only.
//
//	ends := expire.At(func(s *Session) time.Time { return s.Ends }, nil)
//
//	sessions := aztablekit.Table(shop, "sessions", user, id, ends)
//
// On a table in use the definition counts once aztablekit.Store.Fill has run. Before
// aztablekit.Store.Retire, call Sweep: what is over and not swept by then is there again.
//
// Errors, returned by the store and by each method of the table's handle:
//   - *table.ValueError for a nil at, and for a second such definition of the table
//   - *table.DefinitionError for a wrong name, and by a write for an end behind the year 9999
func At[T any](at func(*T) time.Time, o *Options) *Ends[T] {
	c := newCore(o)
	if at == nil {
		c.fault = &table.ValueError{Field: "at", Reason: "is nil; give a function that returns the end of an entity"}
	}
	c.at = func(v any) time.Time { return at(v.(*T)) }
	hours := index.New(c.opt.Name, keys.Digits[int](hourDigits), func(v *T) (int, bool) {
		return hourOfEnd(at(v))
	}, &index.Options{Reserved: true}).Only()
	c.due = func(
		ctx context.Context, t table.Handle, partition keys.PartitionKey, hour int,
	) iter.Seq2[keys.Key, error] {
		q := table.Query[T]{Partition: partition, Rows: hours.Rows().AtMost(hour)}
		return hours.Keys(ctx, t.(*table.Table[T]), q)
	}
	return &Ends[T]{c, hours}
}

func newCore(o *Options) *core {
	c := &core{}
	if o != nil {
		c.opt = *o
	}
	c.opt.Name = cmp.Or(c.opt.Name, "ends")
	return c
}

// hourOfEnd returns the hour of an end, and whether it is one.
func hourOfEnd(at time.Time) (int, bool) {
	end, has := engine.EndAt(at)
	return hourOf(end), has
}

// hourDigits is the length of an hour: 2026112813.
const hourDigits = 10

// hourOf returns the hour of a time as a number.
func hourOf(t time.Time) int {
	t = t.UTC()
	return ((t.Year()*100+int(t.Month()))*100+t.Day())*100 + t.Hour()
}

// Name returns the name of the definition.
func (e *Ends[T]) Name() string {
	if e == nil || e.c == nil {
		return ""
	}
	return e.c.opt.Name
}

var errZero = &table.ValueError{Field: "ends", Reason: "is nil or zero; make it by At"}

// Define adds the definition to the declaration of a table; aztablekit.Table calls it.
func (e *Ends[T]) Define(d *extend.Declaration[T]) error {
	if e == nil || e.c == nil {
		return errZero
	}
	if e.c.fault != nil {
		return e.c.fault
	}
	if err := e.hours.Define(d); err != nil {
		return err
	}
	return e.c.define(d)
}

// define adds the ends to a declaration, d, behind their hours.
func (e *core) define(d any) error {
	var notes *notes
	err := host.Attach(d, func(t table.Handle) (table.Handle, error) {
		if other := door.Table(t).Mode.Ends(); other != nil {
			return nil, &table.ValueError{Field: "definitions", Reason: fmt.Sprintf("contain two of package expire, %s and %s: an entity has one end", other.Definition, e.opt.Name)}
		}
		ends := &engine.Ends{Definition: e.opt.Name, At: e.end}
		if e.opt.ManyPartitions {
			made, err := newNotes(host.OfDeclaration(d), t, e.opt.Name)
			if err != nil {
				return nil, err
			}
			notes, ends.Notes = made, made
		}
		return door.InMode(t, func(m *engine.Mode) {
			m.SetEnds(ends)
			m.Exact = m.Exact || e.opt.Once
		}), nil
	})
	if err != nil {
		return err
	}
	return host.Needs(d, func(t table.Handle) (host.Parts, error) {
		sweep := host.Task{Name: "sweep of " + t.Name(), Do: func(ctx context.Context) error { return e.sweepDaily(ctx, t) }}
		parts := host.Parts{Daily: []host.Task{sweep}}
		if notes != nil {
			parts.Tables = []string{notes.rows.Name()}
			parts.Ensure = []host.Task{{Name: "table " + notes.rows.Name(), Do: door.Table(notes.rows).Ensure}}
		}
		return parts, nil
	})
}

// end is At for a value that the table's schema has made.
func (e *core) end(value any) (end time.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &table.DefinitionError{Definition: e.opt.Name, Field: "at", Reason: fmt.Sprintf("panics: %v", p)}
		}
	}()
	if value == nil {
		return end, errNoValue
	}
	end = e.at(value)
	if year := end.UTC().Year(); year > mostYear {
		reason := fmt.Sprintf("returns an end in the year %d, and the last one is %d; "+
			"a time in milliseconds is time.UnixMilli, not time.Unix; return the zero time for no end", year, mostYear)
		return end, &table.DefinitionError{Definition: e.opt.Name, Field: "at", Reason: reason}
	}
	return end, nil
}

// mostYear is the last year that the service can store.
const mostYear = 9999

var errNoValue = errors.New("expire: there is no entity")

// check returns an error for a handle without the definition.
func (e *core) check(t table.Handle) error {
	if e == nil {
		return errZero
	}
	if err := engine.CheckHandle("t", door.Table(t)); err != nil {
		return err
	}
	if ends := door.Table(t).Mode.Ends(); ends == nil || ends.Definition != e.opt.Name {
		return &table.DefinitionError{Definition: e.opt.Name, Field: "table", Reason: "does not have the definition: use the handle of a table that the same definition was given to"}
	}
	return nil
}

// core returns the ends, nil for a zero Ends.
func (e *Ends[T]) core() *core {
	if e == nil {
		return nil
	}
	return e.c
}

// Extend changes an entity that is not over, such as its end: it reads the entity, and writes it by
// its ETag, again after a conflict; see [table.Table.Update].
//
//	s, err := ends.Extend(ctx, sessions, key, func(s *Session) error {
//		s.Ends = s.Ends.Add(time.Hour)
//		return nil
//	})
//
// Errors: table.ErrNotFound if the entity is over; *table.DefinitionError for a handle without the
// definition; the errors of Update. 2 requests, and 2 more for each conflict.
func (e *Ends[T]) Extend(ctx context.Context, t *table.Table[T], k keys.Key, change func(*T) error) (*table.Entity[T], error) {
	if err := e.core().check(t); err != nil {
		return nil, err
	}
	return t.Update(ctx, k, change)
}

// Take gets an entity and deletes it, for one caller only: a code that works once, a timer, a
// ticket. A lost response changes nothing of that: the deletion stores a commit record, which says
// whose it was.
//
//	code, err := codesEnd.Take(ctx, codes, key)
//
// Errors:
//   - table.ErrNotFound if there is no such entity, it is over, or another caller has taken it
//   - table.ErrUnknownOutcome around an *table.UnknownError if the record could not be read or
//     stored: then the entity is returned with the error, and counts if UnknownError.Resolve says
//     that the deletion was applied
//   - *table.DefinitionError for a handle without the definition
//   - the errors of Get and Delete
//
// 2 requests, and 2 more for each conflict.
func (e *Ends[T]) Take(ctx context.Context, t *table.Table[T], k keys.Key) (*table.Entity[T], error) {
	if err := e.core().check(t); err != nil {
		return nil, err
	}
	exact := t.Exact()
	of := door.Table(t)
	for conflicts := of.Options.NewConflicts(); ; {
		entity, err := exact.Get(ctx, k)
		if err != nil {
			return nil, err
		}
		err = exact.Delete(ctx, entity)
		switch {
		case err == nil:
			return entity, nil
		case errors.Is(err, table.ErrUnknownOutcome):
			return entity, err
		case !errors.Is(err, table.ErrChanged) && !errors.Is(err, table.ErrNotFound):
			return nil, err
		}
		if again, ended := conflicts.Wait(ctx, of.Log("Take", k), err); !again {
			return nil, cmp.Or(ended, err)
		}
	}
}
