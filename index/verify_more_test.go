package index_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestVerifyLeavesAlone: what is not of the definitions that are verified, or not for this type to judge, stays as it is.
func TestVerifyLeavesAlone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()

	// A column of a user's own that is called as those of details are.
	staff, s := office(t, three()...)
	row := &table.Row{Key: keys.At(sales, keys.Raw("project"))}
	check(errors.Join(row.Set("HeadRowKey", "w_000001"), row.Set("HeadLast", "hello")))
	_, err := byHand(s).Insert(ctx, row)
	check(err)
	r, faults := verify(t, staff, index.VerifyOptions{Repair: true}, three()...)
	after, err := staff.GetRow(ctx, row.Key)
	check(err)
	if !r.Sound() || len(faults) > 0 || !after.Same(row) {
		t.Error(r, faults)
	}

	// A conflict of another definition, and right rows of another.
	byMail := index.New("mail", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return w.Email, true }, &index.Options[worker]{Unique: index.InPartition, Pointer: true})
	staff, s = office(t, byMail, byLast, byAge)
	hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	check(byHand(s).DeleteAny(ctx, rowAt("mail_a")))
	hire(t, staff, s, worker{"S", 2, "Cao", "a", 30, nil})
	check(byHand(s).DeleteAny(ctx, rowAt("last_Jones!_w_000001")))
	age1, err := staff.GetRow(ctx, rowAt("age_030_w_000001"))
	check(err)
	if r, _ := verify(t, staff, index.VerifyOptions{Repair: true}, byLast); !r.Sound() || r.Repaired != 1 {
		t.Error(r)
	}
	if e, err := byMail.Get(ctx, staff, sales, "a"); err != nil || e.Key != at(2) {
		t.Error(e, err)
	}
	if again, err := staff.GetRow(ctx, rowAt("age_030_w_000001")); err != nil || again.ETag != age1.ETag {
		t.Error(again, err)
	}

	// An entity whose key does not agree with its fields, for a program has changed these: its rows are not those of nobody.
	oneWay := schema
	oneWay.Row = keys.BindFunc(wid.All(), func(w *worker) keys.Enc { return wid.Of(w.Age) })
	s = storagetest.New(nil)
	plain := openAs(s.ConnectionString(), s, oneWay)
	check(plain.Ensure(ctx))
	staff, err = index.Attach(plain, nil, byEmail)
	check(err)
	hire(t, staff, s, worker{"S", 0, "Jones", "a", 7, nil})
	check(byHand(s).MergeAny(ctx, at(7), table.PropertyOf[int64]("Age").Set(8)))
	if r, faults := verify(t, staff, index.VerifyOptions{Repair: true}, byEmail); r.Repaired > 0 || len(faults) > 0 {
		t.Error(r, faults)
	}
	if _, err := staff.GetRow(ctx, rowAt("email_a")); err != nil {
		t.Error(err)
	}
}

// TestVerifyUnreadable: an entity of which no key can be made is told, and stops nothing.
func TestVerifyUnreadable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	plain := openAs(s.ConnectionString(), s, schema)
	check(plain.Ensure(ctx))
	for i, tags := range [][]string{{"a"}, {"a", "b", "c", "d"}, {"b"}} {
		_, err := plain.Insert(ctx, &worker{fmt.Sprint("S", i/2), i, "Jones", "", 1, tags})
		check(err)
	}
	check(byHand(s).MergeAny(ctx, keys.Stored("S1", "w_000002"), table.PropertyOf[string]("Age").Set("old")))
	staff, err := index.Attach(plain, nil, byTag)
	check(err)
	var faults []index.Fault
	r, err := index.Verify(ctx, staff, &index.VerifyOptions{Repair: true, Fault: func(f index.Fault) { faults = append(faults, f) }}, byTag)
	if err != nil || r.Sound() || r.Faults[index.Unreadable] != 2 || r.Failed != 2 || r.Repaired != 1 || r.Partitions != 2 {
		t.Fatal(r, err, faults)
	}
	var limit *table.LimitError
	if !errors.As(errors.Join(faults[0].Err, faults[1].Err), &limit) {
		t.Error(faults)
	}
	expect(t, "filled", len(ids(t, byTag.List(ctx, staff, dept.Of("S0"), "a"))), 1)

	var ve *table.ValueError
	if _, err := index.Verify(ctx, staff, nil); !errors.As(err, &ve) {
		t.Error(err)
	}
	// Errors are those of what has failed.
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == "query" && strings.Contains(q.String(), "'S0'") {
			return storagetest.Refuse(403, "AuthorizationFailure")
		}
		return storagetest.Fault{}
	})
	if _, err := index.Verify(ctx, staff, &index.VerifyOptions{Width: 2}, byTag); err == nil || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestVerifyBusy: what others change all the time is undecided, and neither sound nor a fault.
func TestVerifyBusy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, repair := range []bool{false, true} {
		staff, s := office(t, three()...)
		_, err := openAs(s.ConnectionString(), s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
		check(err)
		hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
		n := 0
		b := &before{Service: s}
		b.do = func(r *http.Request) {
			if b := strings.Contains(r.URL.String(), "ages_"); b && r.Method == http.MethodGet {
				n++
				_, err := staff.Insert(ctx, &worker{"S", 1000 + n, "Jones", "", 30, nil})
				check(err)
			}
		}
		slow, err := index.Attach(openAs(s.ConnectionString(), b, schema), nil, three()...)
		check(err)
		check(byHand(s).MergeAny(ctx, rowAt("ages_Jones"), table.PropertyOf[int64]("AgeSum").Set(7)))
		r, faults := verify(t, slow, index.VerifyOptions{Repair: repair}, ages)
		if r.Sound() || r.Undecided != 1 || len(faults) > 0 || r.Failed > 0 {
			t.Error(repair, r, faults)
		}
	}

	staff, s := office(t, byLast)
	hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	check(byHand(s).DeleteAny(ctx, rowAt("last_Jones!_w_000001")))
	b := &before{Service: s}
	b.do = func(r *http.Request) {
		if strings.Contains(r.URL.String(), "RowKey='last_") {
			_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Age++; return nil })
			check(err)
		}
	}
	slow, err := index.Attach(openAs(s.ConnectionString(), b, schema), nil, byLast)
	check(err)
	if r, faults := verify(t, slow, index.VerifyOptions{Repair: true}, byLast); r.Sound() || r.Undecided != 1 || len(faults) > 0 {
		t.Error(r, faults)
	}
}

// TestVerifyComesAndGoes: an entity that comes and goes while it is looked at is no fault, and a group that does is not made up.
func TestVerifyComesAndGoes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, definition := range []index.Definition[worker]{byLast, ages} {
		for _, repair := range []bool{false, true} {
			staff, s := office(t, definition)
			hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
			b := &before{Service: s}
			n := 0
			b.do = func(r *http.Request) {
				n++
				switch { // it is there for whoever looks at every third request
				case n%3 == 0:
					_, err := staff.Insert(ctx, &worker{"S", 2, "New", "", 30, nil})
					check(err)
				case n%3 == 1 && n > 1:
					check(staff.DeleteAny(ctx, at(2)))
				}
			}
			slow, err := index.Attach(openAs(s.ConnectionString(), b, schema), nil, definition)
			check(err)
			r, faults := verify(t, slow, index.VerifyOptions{Repair: repair}, definition)
			if len(faults) > 0 || r.Failed > 0 {
				t.Error(definition.Name(), repair, r, faults)
			}
			if n%3 == 0 || n%3 == 1 {
				_ = staff.DeleteAny(ctx, at(2))
			}
			if r, faults := verify(t, staff, index.VerifyOptions{}, definition); !r.Sound() {
				t.Error(definition.Name(), repair, r, faults)
			}
		}
	}
}

// TestVerifyLists: a list that was lost is written with many of its members at a time.
func TestVerifyLists(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := office(t, teams)
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range 300 {
			if !yield(staff.InsertOp(&worker{"S", i, "Jones", "", 1, nil}), nil) {
				return
			}
		}
	}, nil)
	check(err)
	check(byHand(s).DeleteAny(ctx, rowAt("team_Jones")))
	s.Count()
	r, _ := verify(t, staff, index.VerifyOptions{Repair: true, Partition: sales}, teams)
	if !r.Sound() || r.Repaired != 300 {
		t.Error(r)
	}
	expect(t, "requests", s.Count(), "910 get, 2 query, 10 transaction") // 3 for each to be sure, and the list for each transaction
	k, err := teams.Keys(ctx, staff, sales, "Jones")
	check(err)
	expect(t, "members", len(k), 300)
}
