package whole_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// piece is an entity of a table with definitions of each kind.
type piece struct {
	Hall, Kind string
	No, Weight int
	Photo      largeentity.Blob
}

var (
	hall   = keys.Partition(keys.Text(), func(p *piece) *string { return &p.Hall })
	no     = keys.Row(keys.Digits[int](4).Named("no"), func(p *piece) *int { return &p.No })
	weight = table.FieldOf(func(p *piece) *int { return &p.Weight })
)

// museum is a store of which each method of its parts is called.
type museum struct {
	store  *aztablekit.Store
	pieces *table.Table[piece]
	stock  *table.Table[piece] // where pieces go

	byKind  *index.Index[piece, string]
	inAll   *index.Global[piece, string]
	kinds   *index.Lists[piece, string]
	total   *index.Summary[piece, string]
	photos  *largeentity.Values[piece]
	mover   *archive.Mover[piece]
	count   *jobs.Job[piece, int]
	log     *logtail.Log[piece]
	days    *logtail.Log[piece]
	poison  *eventual.PoisonQueue
	records *records.Records

	first, second *table.Entity[piece] // of hall A
	photo         largeentity.Blob
}

func openMuseum(s *storagetest.Service, c table.Common) *museum {
	m := &museum{store: aztablekit.Open(s, "museum", &aztablekit.Options{Daily: -1, Common: c})}
	kind := func(p *piece) (string, bool) { return p.Kind, true }
	m.byKind, m.inAll = index.New("kind", keys.Text(), kind, nil), index.NewGlobal("all", keys.Text(), kind, nil)
	m.kinds = index.NewLists("kinds", keys.Text(), kind, nil)
	m.total = index.NewSummary("total", keys.Text(), kind, nil)
	m.photos = largeentity.In[piece]("photos", nil)
	m.mover = archive.Into[piece]("lend", archive.ToTable("lent", nil))
	m.count = jobs.Rows("count", func(int) table.Query[piece] { return table.Query[piece]{} },
		func(context.Context, *jobs.Slice[piece], []*table.Entity[piece], int) error { return nil })
	refused := eventual.On("refused", func(c *eventual.Change[piece]) (int, bool) { return 0, c.New != nil && c.New.Hall == "poison" },
		func(context.Context, eventual.Job, int) error { return eventual.Poison(errors.New("never")) })
	m.pieces = aztablekit.Table(m.store, "pieces", hall, no, m.byKind, m.inAll, m.kinds, m.total, m.mover, m.count, refused, m.photos)
	m.stock = aztablekit.Table(m.store, "stock", hall, no)
	m.log = logtail.New[piece](m.store, "log", nil)
	m.days = logtail.NewByPeriod[piece](m.store, "days", &logtail.PeriodOptions{Keep: 2}, nil)
	m.records = records.Of(m.pieces)
	return m
}

// fill stores what the methods find.
func (m *museum) fill(ctx context.Context) (err error) {
	err = m.store.Ensure(ctx)
	if err != nil {
		return err
	}
	m.photo, err = m.photos.Upload(ctx, m.pieces, pieceKey(1), strings.NewReader(strings.Repeat("x", 100_000)), "")
	if err != nil {
		return err
	}
	var errs [3]error
	m.first, errs[0] = m.pieces.Insert(ctx, &piece{Hall: "A", No: 1, Kind: "vase", Photo: m.photo})
	m.second, errs[1] = m.pieces.Insert(ctx, &piece{Hall: "A", No: 2, Kind: "vase"})
	_, errs[2] = m.log.Append(ctx, &piece{Hall: "A"})
	return errors.Join(errs[:]...)
}

// makePoison stores an effect that becomes poison.
func (m *museum) makePoison(ctx context.Context) error {
	_, err := m.pieces.Insert(ctx, &piece{Hall: "poison", No: 3, Kind: "vase"})
	_ = m.store.Drain(ctx)
	return err
}

// adopt takes what another program has stored.
func (m *museum) adopt(filled *museum) (err error) {
	m.first, m.second, m.photo = filled.first, filled.second, filled.photo
	m.poison, err = m.store.Poison()
	return err
}

func pieceKey(n int) keys.Key { return keys.At(hall.Of("A"), no.Of(n)) }

// all reads a sequence to its end.
func all[V any](values iter.Seq2[V, error]) error {
	for _, err := range values {
		if err != nil {
			return err
		}
	}
	return nil
}

// errOf returns the error of a call that also returns a value.
func errOf[V any](_ V, err error) error { return err }

// expectMethodSpans makes a call on a filled museum; see expectSpans.
func expectMethodSpans(t *testing.T, call func(context.Context, *museum) error, hasPoison bool, faults storagetest.FaultFunc) int {
	t.Helper()
	return expectSpans(t, faults, func(ctx context.Context, s *storagetest.Service, traced table.Common) (func() error, error) {
		filled, m := openMuseum(s, table.Common{}), openMuseum(s, traced)
		err := filled.fill(ctx)
		if hasPoison {
			err = errors.Join(err, filled.makePoison(ctx))
		}
		return func() error { return call(ctx, m) }, errors.Join(err, m.adopt(filled))
	})
}

// TestMethodSpans: no span of a method of a table fails that returns nil, whatever the service has refused meanwhile, and one fails of a
// method that returns an error. Each method that sends requests is called.
func TestMethodSpans(t *testing.T) {
	t.Parallel()
	expectSpansOf(t, tableMethods, &table.Table[piece]{}, &table.View[seen, piece]{}, &table.Mixed{}, &records.Records{}, &eventual.PoisonQueue{})
}

// TestDefinitionSpans: the same for the methods of definitions and logs.
func TestDefinitionSpans(t *testing.T) {
	t.Parallel()
	m := &museum{}
	expectSpansOf(t, definitionMethods, m.byKind, m.inAll, m.kinds, m.total, m.photos, m.mover, m.count, m.log, &logtail.Periods{})
}

// expectSpansOf makes each call with and without faults. The calls are those of all methods of types.
func expectSpansOf(t *testing.T, calls map[string]func(context.Context, *museum) error, types ...any) {
	t.Helper()
	expectEachMethod(t, types, calls)
	for name, call := range calls {
		hasPoison := strings.HasPrefix(name, "PoisonQueue.") || strings.HasPrefix(name, "Records.")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectEachRefusal(expectMethodSpans(t, call, hasPoison, nil), func(faults storagetest.FaultFunc) {
				expectMethodSpans(t, call, hasPoison, faults)
			})
		})
	}
}

// expectEachMethod fails if a method of a type that takes a context is not among the calls, as Type.Method.
func expectEachMethod[F any](t *testing.T, types []any, calls map[string]F) {
	t.Helper()
	for _, of := range types {
		typ := reflect.TypeOf(of)
		for i := range typ.NumMethod() {
			m := typ.Method(i)
			generic, _, _ := strings.Cut(typ.Elem().Name(), "[")
			if m.Type.NumIn() < 2 || m.Type.In(1) != reflect.TypeFor[context.Context]() {
				continue // it sends nothing
			}
			name := generic + "." + m.Name
			isCalled := func(call string) bool {
				return call == name || strings.HasPrefix(call, name+" ") || strings.HasPrefix(call, name+",")
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(calls)), isCalled) {
				t.Errorf("%s is not called: add a call", name)
			}
		}
	}
}

// tableMethods are calls of all methods of a table, by their names.
var tableMethods = map[string]func(context.Context, *museum) error{
	"Table.Ensure":                     func(ctx context.Context, m *museum) error { return tabledoor.Ensure(ctx, m.stock) },
	"Table.Get":                        func(ctx context.Context, m *museum) error { return errOf(m.pieces.Get(ctx, pieceKey(1))) },
	"Table.Get of what does not exist": func(ctx context.Context, m *museum) error { return errOf(m.pieces.Get(ctx, pieceKey(9))) },
	"Table.GetRow":                     func(ctx context.Context, m *museum) error { return errOf(tabledoor.GetRow(ctx, m.pieces, pieceKey(1))) },
	"Table.GetFields":                  func(ctx context.Context, m *museum) error { return errOf(m.pieces.GetFields(ctx, pieceKey(1), weight)) },
	"Table.GetMany": func(ctx context.Context, m *museum) error {
		return all(m.pieces.GetMany(ctx, pieceKey(1), pieceKey(2)))
	},
	"Table.Exists of what does not exist": func(ctx context.Context, m *museum) error { return errOf(baretest.Exists(ctx, m.pieces, pieceKey(9))) },
	"Table.Count": func(ctx context.Context, m *museum) error {
		return errOf(m.pieces.Count(ctx, table.Query[piece]{Partition: hall.Of("A")}))
	},
	"Table.List": func(ctx context.Context, m *museum) error { return all(m.pieces.List(ctx, table.Query[piece]{})) },
	"Table.Rows": func(ctx context.Context, m *museum) error {
		return all(m.pieces.Rows(ctx, table.Query[piece]{Partition: hall.Of("A")}))
	},
	"Table.Page": func(ctx context.Context, m *museum) error { return errOf(m.pieces.Page(ctx, table.Query[piece]{}, "")) },
	"Table.Partitions": func(ctx context.Context, m *museum) error {
		return all(m.pieces.Partitions(ctx, keys.PartitionRange{}))
	},
	"table.EachPartition": func(ctx context.Context, m *museum) error {
		return errOf(table.EachPartition(ctx, m.pieces, nil, func(context.Context, keys.PartitionKey) error { return nil }))
	},
	"Table.Insert": func(ctx context.Context, m *museum) error {
		return errOf(m.pieces.Insert(ctx, &piece{Hall: "A", No: 4}))
	},
	"Table.InsertAt": func(ctx context.Context, m *museum) error {
		return errOf(m.pieces.InsertAt(ctx, pieceKey(4), &piece{}))
	},
	"Table.Insert of what exists": func(ctx context.Context, m *museum) error {
		return errOf(m.pieces.Insert(ctx, &piece{Hall: "A", No: 1}))
	},
	"Table.Upsert": func(ctx context.Context, m *museum) error {
		return errOf(m.pieces.Upsert(ctx, &piece{Hall: "A", No: 4}, table.ReplaceExisting))
	},
	"Table.UpsertAt": func(ctx context.Context, m *museum) error {
		return errOf(baretest.UpsertAt(ctx, m.pieces, pieceKey(2), &piece{Hall: "A", No: 2, Kind: "coin"}, table.MergeExisting))
	},
	"Table.Replace": func(ctx context.Context, m *museum) error {
		m.second.Value.Kind = "coin"
		return m.pieces.Replace(ctx, m.second)
	},
	"Table.ReplaceAny": func(ctx context.Context, m *museum) error { return m.pieces.ReplaceAny(ctx, m.second) },
	"Table.Merge":      func(ctx context.Context, m *museum) error { return m.pieces.Merge(ctx, m.second, weight.Set(3)) },
	"Table.MergeAny":   func(ctx context.Context, m *museum) error { return m.pieces.MergeAny(ctx, pieceKey(2), weight.Set(3)) },
	"Table.Touch":      func(ctx context.Context, m *museum) error { return baretest.Touch(ctx, m.pieces, m.second) },
	"Table.Delete":     func(ctx context.Context, m *museum) error { return m.pieces.Delete(ctx, m.second) },
	"Table.DeleteAny":  func(ctx context.Context, m *museum) error { return m.pieces.DeleteAny(ctx, pieceKey(2)) },
	"Table.DeleteOps": func(ctx context.Context, m *museum) error {
		return errOf(table.Bulk(ctx, tabledoor.DeleteOps(ctx, m.pieces, table.Query[piece]{Partition: hall.Of("A")}), nil))
	},
	"Table.Update": func(ctx context.Context, m *museum) error {
		return errOf(m.pieces.Update(ctx, pieceKey(2), func(p *piece) error { p.Weight++; return nil }))
	},
	"Table.UpdateAndMove": func(ctx context.Context, m *museum) error {
		return errOf(m.pieces.UpdateAndMove(ctx, pieceKey(2), func(p *piece) error { p.Hall = "B"; return nil }))
	},
	"Table.Move": func(ctx context.Context, m *museum) error {
		m.second.Value.Hall = "B"
		return m.pieces.Move(ctx, m.second)
	},
	"Table.MoveTo": func(ctx context.Context, m *museum) error {
		e, err := m.stock.Insert(ctx, &piece{Hall: "C", No: 5, Kind: "vase"})
		if err != nil {
			return err
		}
		return m.stock.MoveTo(ctx, m.pieces, e)
	},
	"Table.Move inside a partition": func(ctx context.Context, m *museum) error {
		m.second.Value.No = 7
		return m.pieces.Move(ctx, m.second)
	},
	"View.Get": func(ctx context.Context, m *museum) error { return errOf(m.view().Get(ctx, pieceKey(2))) },
	"View.List": func(ctx context.Context, m *museum) error {
		return all(m.view().List(ctx, table.Query[piece]{Partition: hall.Of("A")}))
	},
	"Mixed.Get":  func(ctx context.Context, m *museum) error { return errOf(m.mixed().Get(ctx, pieceKey(2))) },
	"Mixed.List": func(ctx context.Context, m *museum) error { return all(m.mixed().List(ctx, table.Query[table.Row]{})) },

	"PoisonQueue.Backlog": func(ctx context.Context, m *museum) error { return errOf(m.poison.Backlog(ctx)) },
	"PoisonQueue.List":    func(ctx context.Context, m *museum) error { return all(m.poison.List(ctx)) },
	"PoisonQueue.Replay":  func(ctx context.Context, m *museum) error { return errOf(m.poison.Replay(ctx, nil)) },
	"PoisonQueue.Drop":    func(ctx context.Context, m *museum) error { return errOf(m.poison.Drop(ctx, nil)) },

	"Records.List": func(ctx context.Context, m *museum) error { return all(m.records.List(ctx, hall.Of("A"), time.Now())) },
	"Records.Pending": func(ctx context.Context, m *museum) error {
		return all(m.records.Pending(ctx, hall.Of("poison"), "", time.Now()))
	},
	"Records.Get": func(ctx context.Context, m *museum) error {
		return errOf(m.records.Get(ctx, hall.Of("A"), "00VHNCZB00X3HA15YNNNN76AS1"))
	},
	"Records.MarkDone": func(ctx context.Context, m *museum) error {
		for r, err := range m.records.List(ctx, hall.Of("poison"), time.Now().Add(time.Hour)) {
			if err != nil {
				return err
			}
			return m.records.MarkDone(ctx, r)
		}
		return errors.New("no record")
	},
	"Records.Resolve": func(ctx context.Context, m *museum) error {
		return errOf(m.records.Resolve(ctx, hall.Of("A"), "00VHNCZB00X3HA15YNNNN76AS1"))
	},
}

// definitionMethods are calls of all methods of definitions and logs, by their names.
var definitionMethods = map[string]func(context.Context, *museum) error{
	"Index.Get": func(ctx context.Context, m *museum) error {
		return errOf(m.byKind.Get(ctx, m.pieces, hall.Of("A"), "vase"))
	},
	"Index.List": func(ctx context.Context, m *museum) error {
		return all(m.byKind.List(ctx, m.pieces, hall.Of("A"), "vase"))
	},
	"Index.Between": func(ctx context.Context, m *museum) error {
		return all(m.byKind.Between(ctx, m.pieces, hall.Of("A"), "a", "z"))
	},
	"Index.Prefix": func(ctx context.Context, m *museum) error {
		return all(m.byKind.Prefix(ctx, m.pieces, hall.Of("A"), "va"))
	},
	"Index.Query": func(ctx context.Context, m *museum) error { return all(m.byKind.Query(ctx, m.pieces, m.vases())) },
	"Index.Keys":  func(ctx context.Context, m *museum) error { return all(m.byKind.Keys(ctx, m.pieces, m.vases())) },
	"Index.Page":  func(ctx context.Context, m *museum) error { return errOf(m.byKind.Page(ctx, m.pieces, m.vases(), "")) },
	"Global.Get":  func(ctx context.Context, m *museum) error { return errOf(m.inAll.Get(ctx, m.pieces, "vase")) },
	"Global.List": func(ctx context.Context, m *museum) error { return all(m.inAll.List(ctx, m.pieces, "vase")) },
	"Global.Query": func(ctx context.Context, m *museum) error {
		return all(m.inAll.Query(ctx, m.pieces, "vase", table.Query[piece]{}))
	},
	"Global.Keys": func(ctx context.Context, m *museum) error {
		return all(m.inAll.Keys(ctx, m.pieces, "vase", table.Query[piece]{}))
	},
	"Global.Page": func(ctx context.Context, m *museum) error {
		return errOf(m.inAll.Page(ctx, m.pieces, "vase", table.Query[piece]{}, ""))
	},
	"Lists.Keys": func(ctx context.Context, m *museum) error {
		return errOf(m.kinds.Keys(ctx, m.pieces, hall.Of("A"), "vase"))
	},
	"Lists.List": func(ctx context.Context, m *museum) error {
		return all(m.kinds.List(ctx, m.pieces, hall.Of("A"), "vase"))
	},
	"Summary.Get": func(ctx context.Context, m *museum) error {
		return errOf(m.total.Get(ctx, m.pieces, hall.Of("A"), "vase"))
	},
	"Summary.Get of no entity": func(ctx context.Context, m *museum) error {
		return errOf(m.total.Get(ctx, m.pieces, hall.Of("A"), "none"))
	},
	"Summary.All": func(ctx context.Context, m *museum) error { return all(m.total.All(ctx, m.pieces, hall.Of("A"))) },

	"Values.Open": func(ctx context.Context, m *museum) error { return readAll(m.photos.Open(ctx, m.pieces, m.photo)) },
	"Values.OpenRange": func(ctx context.Context, m *museum) error {
		return readAll(m.photos.OpenRange(ctx, m.pieces, m.photo, 10, 20))
	},
	"Values.OpenAt": func(ctx context.Context, m *museum) error {
		r, _, err := m.photos.OpenAt(ctx, m.pieces, pieceKey(1), func(p *piece) largeentity.Blob { return p.Photo })
		return readAll(r, err)
	},
	"Values.Upload": func(ctx context.Context, m *museum) error {
		return errOf(m.photos.Upload(ctx, m.pieces, pieceKey(2), strings.NewReader(strings.Repeat("y", 100_000)), ""))
	},
	"Values.Copy": func(ctx context.Context, m *museum) error {
		return errOf(m.photos.Copy(ctx, m.pieces, keys.At(hall.Of("B"), no.Of(1)), m.photo))
	},
	"Values.Sweep":  func(ctx context.Context, m *museum) error { return errOf(m.photos.Sweep(ctx, m.pieces, nil)) },
	"Values.Relink": func(ctx context.Context, m *museum) error { return errOf(m.photos.Relink(ctx, m.pieces, nil)) },

	"Mover.Archive": func(ctx context.Context, m *museum) error {
		return errors.Join(m.mover.Archive(ctx, m.pieces, m.second), m.store.Drain(ctx))
	},
	"Mover.ArchiveAll": func(ctx context.Context, m *museum) error {
		return errOf(m.mover.ArchiveAll(ctx, m.pieces, table.Query[piece]{Partition: hall.Of("A")}, nil))
	},
	"Mover.Archived": func(ctx context.Context, m *museum) error { return all(m.mover.Archived(ctx, m.pieces, hall.Of("A"))) },
	"Mover.Find": func(ctx context.Context, m *museum) error {
		_, _, err := m.mover.Find(ctx, m.pieces, pieceKey(2))
		return err
	},
	"Mover.Restore": func(ctx context.Context, m *museum) error {
		err := errors.Join(m.mover.Archive(ctx, m.pieces, m.second), m.store.Drain(ctx))
		return errors.Join(err, errOf(m.mover.Restore(ctx, m.pieces, pieceKey(2))))
	},
	"Job.Start, Status and Delete": func(ctx context.Context, m *museum) error {
		err := errors.Join(m.count.Start(ctx, m.pieces, "today", 1, nil), m.store.Drain(ctx))
		return errors.Join(err, errOf(m.count.Status(ctx, m.pieces, "today")), m.count.Delete(ctx, m.pieces, "today"))
	},
	"Job.Status": func(ctx context.Context, m *museum) error { return errOf(m.count.Status(ctx, m.pieces, "today")) },
	"Job.Start, twice, and Cancel of what has finished": func(ctx context.Context, m *museum) error {
		err := errors.Join(m.count.Start(ctx, m.pieces, "today", 1, nil), m.count.Start(ctx, m.pieces, "today", 1, nil), m.store.Drain(ctx))
		return errors.Join(err, m.count.Start(ctx, m.pieces, "today", 1, nil), m.count.Cancel(ctx, m.pieces, "today"))
	},
	"Job.Cancel": func(ctx context.Context, m *museum) error {
		return errors.Join(m.count.Start(ctx, m.pieces, "today", 1, nil), m.count.Cancel(ctx, m.pieces, "today"), m.count.Delete(ctx, m.pieces, "today"))
	},
	"Job.Delete": func(ctx context.Context, m *museum) error { return m.count.Delete(ctx, m.pieces, "yesterday") },

	"Log.Append": func(ctx context.Context, m *museum) error { return errOf(m.log.Append(ctx, &piece{Hall: "A"})) },
	"Log.AppendAll": func(ctx context.Context, m *museum) error {
		return errOf(m.log.AppendAll(ctx, &piece{Hall: "A"}, &piece{Hall: "B"}))
	},
	"Log.AppendOnce": func(ctx context.Context, m *museum) error {
		at := time.Now()
		err := errOf(m.log.AppendOnce(ctx, "1", at, &piece{Hall: "A"}))
		return errors.Join(err, errOf(m.log.AppendOnce(ctx, "1", at, &piece{Hall: "A"})))
	},
	"Log.Resend": func(ctx context.Context, m *museum) error {
		r, err := m.log.Append(ctx, &piece{Hall: "A"})
		if err != nil {
			return err
		}
		return m.log.Resend(ctx, r)
	},
	"Log.Tail":    func(ctx context.Context, m *museum) error { return all(m.log.Tail(ctx, 3)) },
	"Log.Between": func(ctx context.Context, m *museum) error { return all(m.log.Between(ctx, time.Time{}, time.Now())) },
	"Log.Since":   func(ctx context.Context, m *museum) error { return all(m.log.Since(ctx, time.Now().Add(-time.Hour))) },
	"Log.Follow": func(ctx context.Context, m *museum) error {
		for _, err := range m.log.Follow(ctx, logtail.NewCursor("", time.Now().Add(-time.Hour))) {
			return err // the caller leaves the loop
		}
		return nil
	},
	"Log.Delete": func(ctx context.Context, m *museum) error {
		return errOf(m.log.Delete(ctx, time.Time{}, time.Now().Add(time.Hour), nil))
	},
	"Periods.Create": func(ctx context.Context, m *museum) error { return errOf(m.days.Periods().Create(ctx)) },
	"Periods.Drop": func(ctx context.Context, m *museum) error {
		time.Sleep(5 * 24 * time.Hour)
		return errOf(m.days.Periods().Drop(ctx, nil))
	},
	"Periods.List": func(ctx context.Context, m *museum) error { return all(m.days.Periods().List(ctx)) },
}

// seen is what a view of a piece reads.
type seen struct{ Weight int }

func (m *museum) vases() table.Query[piece] {
	return table.Query[piece]{Partition: hall.Of("A"), Rows: m.byKind.Value("vase")}
}

func (m *museum) view() *table.View[seen, piece] {
	v, err := table.ViewOf[seen](m.pieces)
	if err != nil {
		panic(err)
	}
	return v
}

func (m *museum) mixed() *table.Mixed {
	mixed, err := table.NewMixed(m.pieces)
	if err != nil {
		panic(err)
	}
	return mixed
}

// readAll reads a value to its end.
func readAll(r io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}
