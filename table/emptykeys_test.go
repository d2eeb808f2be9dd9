package table_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// lodger has any keys, as tables of other programs have them.
type lodger struct{ P, R, Name string }

var lodgerSchema = table.Schema[lodger]{
	Partition: keys.RawPartitionOf(func(l *lodger) *string { return &l.P }),
	Row:       keys.RawRowOf(func(l *lodger) *string { return &l.R }),
}

var lodgerName = table.FieldOf(func(l *lodger) *string { return &l.Name })

// newLodgers returns a table with a row for each key, of a client with the options of the library or of a plain one.
func newLodgers(t *testing.T, plain bool, all ...keys.Key) (*table.Table[lodger], *storagetest.Service) {
	t.Helper()
	ctx := context.Background()
	s := storagetest.New(nil)
	var service engine.Service = s.Tables()
	if !plain {
		acc, err := account.FromTransport(s, nil)
		testkit.NoError(t, err)
		service = acc.Tables()
	}
	lodgers, err := bare.NewTable(service, "lodgers", lodgerSchema, nil)
	testkit.NoError(t, err)
	testkit.NoError(t, tabledoor.Ensure(ctx, lodgers))
	for _, k := range all {
		body := `{"PartitionKey":"` + k.PartitionKey() + `","RowKey":"` + k.RowKey() + `","Name":"Jones"}`
		_, err := s.Tables().NewClient("lodgers").AddEntity(ctx, []byte(body), nil)
		testkit.NoError(t, err)
	}
	s.Count()
	return lodgers, s
}

// TestEmptyRowKey: a row with an empty RowKey, which other programs store, is read, written and deleted in each way. A new one is written by its
// key only.
func TestEmptyRowKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	k := keys.Raw("p", "")
	for client, plain := range map[string]bool{"a client of package account": false, "a plain client": true} {
		reads := map[string]func(*table.Table[lodger]) (string, error){
			"Get": func(l *table.Table[lodger]) (string, error) {
				e, err := l.Get(ctx, k)
				if err != nil {
					return "", err
				}
				return e.Value.Name, nil
			},
			"GetRow": func(l *table.Table[lodger]) (string, error) {
				r, err := tabledoor.GetRow(ctx, l, k)
				if err != nil {
					return "", err
				}
				name, _ := r.Get("Name")
				return name.(string), nil
			},
			"GetMany": func(l *table.Table[lodger]) (name string, err error) {
				for e, failed := range l.GetMany(ctx, k) {
					err = failed
					if err == nil {
						name = e.Value.Name
					}
				}
				return name, err
			},
			"Exists": func(l *table.Table[lodger]) (string, error) {
				is, err := baretest.Exists(ctx, l, k)
				return map[bool]string{true: "Jones"}[is], err
			},
			"Get of a view": func(l *table.Table[lodger]) (string, error) {
				names, err := table.ViewOf[struct{ Name string }](l)
				testkit.NoError(t, err)
				p, err := names.Get(ctx, k)
				if err != nil {
					return "", err
				}
				return p.Value.Name, nil
			},
		}
		for name, read := range reads {
			lodgers, s := newLodgers(t, plain, k, keys.Raw("p", "r"))
			got, err := read(lodgers)
			if n := s.Count().Total(); err != nil || got != "Jones" || n != 1 {
				t.Errorf("%s by %s: got %q, error %v and %d requests; want Jones and 1 request", name, client, got, err, n)
			}
		}
		deletes := map[string]func(*table.Table[lodger]) error{
			"DeleteAny": func(l *table.Table[lodger]) error { return l.DeleteAny(ctx, k) },
			"Transact": func(l *table.Table[lodger]) error {
				_, err := table.Transact(ctx, l.DeleteAnyOp(k), l.DeleteAnyOp(keys.Raw("p", "s")))
				return err
			},
			"Delete": func(l *table.Table[lodger]) error {
				e, err := l.Get(ctx, k)
				if err != nil {
					return err
				}
				return l.Delete(ctx, e)
			},
			"table.BulkDelete": func(l *table.Table[lodger]) error {
				_, err := table.BulkDelete(ctx, l, table.Query[lodger]{TableScan: true}, nil)
				return err
			},
			"Rekey": func(l *table.Table[lodger]) error {
				e, err := l.Get(ctx, k)
				if err != nil {
					return err
				}
				e.Value.R = "named"
				return l.Move(ctx, e)
			},
		}
		for name, remove := range deletes {
			lodgers, s := newLodgers(t, plain, k, keys.Raw("p", "s"))
			if err := remove(lodgers); err != nil {
				t.Errorf("%s by %s: got error %v; want none", name, client, err)
			}
			for _, row := range s.Rows("lodgers") {
				if row.RowKey == "" {
					t.Errorf("%s by %s: got row %v; want none with an empty RowKey", name, client, row)
				}
			}
		}
		type write = func(*table.Table[lodger], *table.Entity[lodger]) error
		for name, write := range map[string]write{
			"InsertAt": func(l *table.Table[lodger], e *table.Entity[lodger]) error {
				return errors.Join(l.Delete(ctx, e), second(l.InsertAt(ctx, k, &lodger{P: "p", Name: "Cao"})))
			},
			"InsertAt of a row that exists": func(l *table.Table[lodger], e *table.Entity[lodger]) error {
				if _, err := l.InsertAt(ctx, k, &e.Value); !errors.Is(err, table.ErrExists) {
					return fmt.Errorf("got error %w; want ErrExists", err)
				}
				return l.MergeAny(ctx, k, lodgerName.Set("Cao"))
			},
			"UpsertAt": func(l *table.Table[lodger], e *table.Entity[lodger]) error {
				return second(baretest.UpsertAt(ctx, l, k, &lodger{P: "p", Name: "Cao"}, table.ReplaceExisting))
			},
			"Replace":    func(l *table.Table[lodger], e *table.Entity[lodger]) error { return l.Replace(ctx, named(e)) },
			"ReplaceAny": func(l *table.Table[lodger], e *table.Entity[lodger]) error { return l.ReplaceAny(ctx, named(e)) },
			"Merge": func(l *table.Table[lodger], e *table.Entity[lodger]) error {
				return l.Merge(ctx, e, lodgerName.Set("Cao"))
			},
			"MergeAny": func(l *table.Table[lodger], e *table.Entity[lodger]) error {
				return l.MergeAny(ctx, k, lodgerName.Set("Cao"))
			},
			"Touch and Replace": func(l *table.Table[lodger], e *table.Entity[lodger]) error {
				return errors.Join(baretest.Touch(ctx, l, e), l.Replace(ctx, named(e)))
			},
			"Update": func(l *table.Table[lodger], e *table.Entity[lodger]) error {
				return second(l.Update(ctx, k, func(l *lodger) error { l.Name = "Cao"; return nil }))
			},
			"Exact": func(l *table.Table[lodger], e *table.Entity[lodger]) error {
				return second(l.Exact().Update(ctx, k, func(l *lodger) error { l.Name = "Cao"; return nil }))
			},
			"Transact": func(l *table.Table[lodger], e *table.Entity[lodger]) error {
				return second(table.Transact(ctx, l.ReplaceOp(named(e)), l.InsertOp(&lodger{"p", "r", "Jones"})))
			},
		} {
			lodgers, _ := newLodgers(t, plain, k)
			e, err := lodgers.Get(ctx, k)
			testkit.NoError(t, err)
			if err := write(lodgers, e); err != nil {
				t.Errorf("%s by %s: got error %v; want none", name, client, err)
			}
			if e, err = lodgers.Get(ctx, k); err != nil || e.Value != (lodger{"p", "", "Cao"}) {
				t.Errorf("%s by %s: got %v, error %v; want Cao", name, client, e, err)
			}
		}
		writes := map[string]write{
			"Insert": func(l *table.Table[lodger], e *table.Entity[lodger]) error { return second(l.Insert(ctx, &e.Value)) },
			"Upsert": func(l *table.Table[lodger], e *table.Entity[lodger]) error {
				return second(l.Upsert(ctx, &e.Value, table.ReplaceExisting))
			},
			"InsertAt in a partition of the library": func(l *table.Table[lodger], e *table.Entity[lodger]) error {
				rows, err := bare.NewTable(door.Table(l).Service, "lodgers", table.Schema[table.Row]{}, nil)
				testkit.NoError(t, err)
				return second(rows.InsertAt(ctx, keys.Raw("~p", ""), &table.Row{}))
			},
		}
		for name, write := range writes {
			lodgers, s := newLodgers(t, plain, k)
			e, err := lodgers.Get(ctx, k)
			testkit.NoError(t, err)
			s.Count()
			var ke *keys.KeyError
			if err := write(lodgers, e); !errors.As(err, &ke) || !strings.Contains(ke.Reason, "is empty") && !strings.Contains(ke.Reason, "~") || s.Count().Total() != 0 {
				t.Errorf("%s by %s: got error %v; want a *keys.KeyError that says \"is empty\", and no request", name, client, err)
			}
		}
	}
}

// named returns an entity with another name.
func named(e *table.Entity[lodger]) *table.Entity[lodger] {
	e.Value.Name = "Cao"
	return e
}

// TestEmptyRowKeyPages: pages of one row, each by the token of the page before, reach rows with empty keys and the rows behind them.
func TestEmptyRowKeyPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	all := []keys.Key{keys.Raw("", ""), keys.Raw("", "r"), keys.Raw("p", ""), keys.Raw("p", "r")}
	lodgers, _ := newLodgers(t, false, all...)
	var got []keys.Key
	token := ""
	for range len(all) + 1 {
		page, err := lodgers.Page(ctx, table.Query[lodger]{TableScan: true, Limit: 1}, token)
		testkit.NoError(t, err)
		for _, e := range page.Entities {
			got = append(got, e.Key)
		}
		if token = page.Token; token == "" {
			break
		}
	}
	testkit.Expect(t, "rows of all pages", got, all)
	n, err := lodgers.Count(ctx, table.Query[lodger]{TableScan: true})
	testkit.NoError(t, err)
	testkit.Expect(t, "count", n, len(all))
}

// TestEmptyPartitionKey: a row with an empty PartitionKey is listed and found by queries. The SDK sends no other request for it, and the
// error says so.
func TestEmptyPartitionKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	k := keys.Raw("", "r")
	lodgers, s := newLodgers(t, false, k, keys.Raw("p", ""), keys.Raw("p", "r"))
	listed, err := table.Collect(lodgers.List(ctx, table.Query[lodger]{Partition: k.Partition()}))
	if err != nil || len(listed) != 1 || listed[0].Key != k {
		t.Errorf("List: got %v, error %v; want the row %v", listed, err, k)
	}
	if is, err := baretest.Exists(ctx, lodgers, k); err != nil || !is {
		t.Errorf("Exists: got %v, error %v; want true", is, err)
	}
	const want = "PartitionKey: key is empty: the SDK lists and inserts such rows, and cannot get, change or delete one"
	for name, err := range map[string]error{
		"Get":       second(lodgers.Get(ctx, k)),
		"GetRow":    second(tabledoor.GetRow(ctx, lodgers, k)),
		"Delete":    lodgers.Delete(ctx, listed[0]),
		"DeleteAny": lodgers.DeleteAny(ctx, k),
		"bulk":      second(table.BulkDelete(ctx, lodgers, table.Query[lodger]{TableScan: true}, nil)),
	} {
		var ke *keys.KeyError
		if !errors.As(err, &ke) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v; want a *keys.KeyError with the text %q", name, err, want)
		}
	}
	skipped := 0
	result, err := table.BulkDelete(ctx, lodgers, table.Query[lodger]{TableScan: true}, &table.Pass{Skip: func(keys.Key, error) bool { skipped++; return true }})
	if err != nil || skipped != 1 || result.Skipped != 1 || len(s.Rows("lodgers")) != 1 {
		t.Errorf("table.BulkDelete with Skip: got %+v, error %v and %d rows left; want 1 skipped row, which is left", result, err, len(s.Rows("lodgers")))
	}
}

// TestEmptyRowKeyMaintained: a handle with maintainers reads such a row, and does not write it: no derived row can name it.
func TestEmptyRowKeyMaintained(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	k := keys.Raw("p", "")
	base, s := newLodgers(t, false, k)
	lodgers, err := bare.With(base, &nothing{})
	testkit.NoError(t, err)
	e, err := lodgers.Get(ctx, k)
	testkit.NoError(t, err)
	s.Count()
	for name, err := range map[string]error{"Delete": lodgers.Delete(ctx, e), "DeleteAny": lodgers.DeleteAny(ctx, k), "Replace": lodgers.Replace(ctx, e), "Merge": lodgers.Merge(ctx, e, lodgerName.Set("Cao"))} {
		var ke *keys.KeyError
		if !errors.As(err, &ke) || !strings.Contains(ke.Reason, "with a handle without definitions") {
			t.Errorf("%s: got error %v; want a *keys.KeyError that names a handle without definitions", name, err)
		}
	}
	testkit.Expect(t, "requests", s.Count().Total(), 0)
}

// TestEmptyRowKeyMoved: such a row does not move to another partition, since the marks of that write could not name it.
func TestEmptyRowKeyMoved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	base, s := newLodgers(t, false, keys.Raw("p", ""))
	lodgers, err := baretest.WithOutbox(base, &memoryOutbox{})
	testkit.NoError(t, err)
	e, err := lodgers.Get(ctx, keys.Raw("p", ""))
	testkit.NoError(t, err)
	s.Count()
	e.Value.P, e.Value.R = "q", "named"
	var ke *keys.KeyError
	if err := lodgers.Move(ctx, e); !errors.As(err, &ke) || ke.Key != "RowKey" || s.Count().Total() != 0 {
		t.Errorf("Move: got error %v; want a *keys.KeyError of the RowKey, and no request", err)
	}
}

// nothing is a maintainer without derived rows.
type nothing struct{}

func (*nothing) Name() string                                                         { return "nothing" }
func (*nothing) MaxRows() int                                                         { return 0 }
func (*nothing) Maintain(context.Context, *extend.Plan, *extend.Change[lodger]) error { return nil }
