package aztablekit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

type visit struct {
	User, ID string
	Bytes    int64
	Ends     time.Time
}

type online struct{ All, User, Visit string }

// TestEndedInTheWay: what is over stands in nobody's way, before any sweep: it is deleted by the
// write that finds it in a quota, in a sum, with the value or the target of details that the write
// wants, or with the key of a view.
func TestEndedInTheWay(t *testing.T) {
	t.Parallel()
	inUser := keys.RawPartitionOf(func(v *visit) *string { return &v.User })
	ofID := keys.Row(keys.Text().Named("visit"), func(v *visit) *string { return &v.ID })
	all := func(*visit) (string, bool) { return "all", true }
	bytes := index.Measure[visit]{Name: "Bytes", Of: func(v *visit) (int64, bool) { return v.Bytes, true }, Most: 10}
	account := func(*visit) (keys.RowKey, bool) { return keys.RawRow("account"), true }
	first := func(v *visit) (string, bool) { return "first", v.ID == "1" || v.ID == "new" }
	for what, definition := range map[string]aztablekit.Definition[visit]{
		"a quota":            index.NewSummary("quota", keys.Text(), all, &index.SummaryOptions{Most: 3}),
		"a sum":              index.NewSummary("quota", keys.Text(), all, nil, bytes),
		"a value":            index.New("first", keys.Text(), first, &index.Options{Unique: true}),
		"a value everywhere": index.NewUnique("first", keys.Text(), first, nil),
		"details": index.NewDetails("newest", "Visit", func(v *visit) (keys.RowKey, bool) {
			k, _ := account(v)
			return k, v.ID == "1" || v.ID == "new"
		}, table.FieldOf(func(v *visit) *int64 { return &v.Bytes })),
	} {
		for how, insert := range map[string]func(*aztablekit.Store, *table.Table[visit], *visit) error{
			"Insert": func(_ *aztablekit.Store, visits *table.Table[visit], v *visit) error {
				_, err := visits.Insert(t.Context(), v)
				return err
			},
			"Bulk": func(_ *aztablekit.Store, visits *table.Table[visit], v *visit) error {
				one := func(yield func(table.Op, error) bool) { yield(visits.InsertOp(v), nil) }
				_, err := table.Bulk(t.Context(), one, nil)
				return err
			},
			"txn": func(s *aztablekit.Store, visits *table.Table[visit], v *visit) error {
				return txn.Run(t.Context(), s, func(tx *txn.Tx) error { tx.Do(visits.InsertOp(v)); return nil })
			},
		} {
			t.Run(what+", "+how, func(t *testing.T) {
				t.Parallel()
				now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
				service := storagetest.New(&storagetest.Options{Now: func() time.Time { return now }})
				s := quiet(service)
				ends := expire.At(func(v *visit) time.Time { return v.Ends }, nil)
				visits := aztablekit.Table(s, "visits", inUser, ofID, definition, ends)
				rows := aztablekit.Table[table.Row](s, "visits", nil, keys.OneRow[table.Row]("account"))
				if err := s.Ensure(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := rows.InsertAt(t.Context(), keys.Raw("ann", "account"), &table.Row{}); err != nil {
					t.Fatal(err)
				}
				for i := range 3 {
					v := &visit{"ann", fmt.Sprint(i), 3, now.Add(time.Minute)}
					if _, err := visits.Insert(t.Context(), v); err != nil {
						t.Fatal(err)
					}
				}
				v := &visit{"ann", "new", 5, time.Time{}}
				if err := insert(s, visits, v); err == nil {
					t.Error("nothing stands in its way")
				}
				now = now.Add(time.Hour)
				if err := insert(s, visits, v); err != nil {
					t.Errorf("an hour later: got %v; want nil", err)
				}
				if _, err := visits.Get(t.Context(), visits.Key(*v)); err != nil {
					t.Errorf("got %v; want the new one", err)
				}
				if r, err := s.Verify(t.Context(), nil); err != nil || r.Faults > 0 {
					t.Errorf("verify: got %+v, %v", r, err)
				}
			})
		}
	}
}

// TestEndedInView: the derived entity of an entity that is over is free for the next one with its
// key, in either order of the definitions.
func TestEndedInView(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		service := storagetest.New(&storagetest.Options{Now: func() time.Time { return now }})
		s := quiet(service)
		all := keys.RawPartitionOf(func(p *online) *string { return &p.All })
		users := aztablekit.Table(s, "users", all, keys.RawRowOf(func(p *online) *string { return &p.User }))
		derive := func(v *visit, _ keys.Key) (online, bool) { return online{"all", v.User, v.ID}, true }
		ends := expire.At(func(v *visit) time.Time { return v.Ends }, nil)
		definitions := []aztablekit.Definition[visit]{materialized.New("users", users, derive), ends}
		if first {
			definitions[0], definitions[1] = definitions[1], definitions[0]
		}
		inUser := keys.RawPartitionOf(func(v *visit) *string { return &v.User })
		ofID := keys.RawRowOf(func(v *visit) *string { return &v.ID })
		visits := aztablekit.Table(s, "visits", inUser, ofID, definitions...)
		err := s.Ensure(t.Context())
		for i, id := range []string{"1", "2"} {
			if err == nil {
				_, err = visits.Insert(t.Context(), &visit{User: "ann", ID: id, Ends: now.Add(time.Minute)})
			}
			if err == nil {
				err = s.Drain(t.Context())
			}
			if i == 0 {
				now = now.Add(time.Hour)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := users.Get(t.Context(), keys.Raw("all", "ann"))
		if err != nil || got.Value.Visit != "2" {
			t.Errorf("got %v, %v; want visit 2", got, err)
		}
		if _, err := visits.Get(t.Context(), keys.Raw("ann", "1")); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("the one that is over: got %v; want ErrNotFound", err)
		}
		poison, err := s.Poison()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := poison.Backlog(t.Context()); n != 0 || err != nil {
			t.Errorf("got %d poison messages, %v; want none", n, err)
		}
	}
}
