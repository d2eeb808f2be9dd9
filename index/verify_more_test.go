package index_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
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
	r, faults := mustVerify(t, staff, verify.Options{Repair: true}, three()...)
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
	if r, _ := mustVerify(t, staff, verify.Options{Repair: true}, byLast); !r.Sound() || r.Repaired != 1 {
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
	if r, faults := mustVerify(t, staff, verify.Options{Repair: true}, byEmail); r.Repaired > 0 || len(faults) > 0 {
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
	var faults []verify.Fault
	r, err := verify.Run(ctx, staff, &verify.Options{Repair: true, Fault: func(f verify.Fault) { faults = append(faults, f) }}, byTag)
	if err != nil || r.Sound() || r.Faults[verify.Unreadable] != 2 || r.Failed != 2 || r.Repaired != 1 || r.Partitions != 2 {
		t.Fatal(r, err, faults)
	}
	var limit *table.LimitError
	if !errors.As(errors.Join(faults[0].Err, faults[1].Err), &limit) {
		t.Error(faults)
	}
	expect(t, "filled", len(ids(t, byTag.List(ctx, staff, dept.Of("S0"), "a"))), 1)

	var ve *table.ValueError
	if _, err := verify.Run(ctx, plain, nil); !errors.As(err, &ve) {
		t.Error(err)
	}
	if all, err := verify.Run(ctx, staff, nil); err != nil || all.Entities != r.Entities || all.Rows == 0 {
		t.Error("without definitions it is all of them:", all, err)
	}
	// Errors are those of what has failed.
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == "query" && strings.Contains(q.String(), "'S0'") {
			return storagetest.Refuse(403, "AuthorizationFailure")
		}
		return storagetest.Fault{}
	})
	if _, err := verify.Run(ctx, staff, &verify.Options{Width: 2}, byTag); err == nil || errors.Is(err, context.Canceled) {
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
		r, faults := mustVerify(t, slow, verify.Options{Repair: repair}, ages)
		if r.Sound() || r.Unconfirmed != 1 || len(faults) > 0 || r.Failed > 0 {
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
	if r, faults := mustVerify(t, slow, verify.Options{Repair: true}, byLast); r.Sound() || r.Unconfirmed != 1 || len(faults) > 0 {
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
			r, faults := mustVerify(t, slow, verify.Options{Repair: repair}, definition)
			if len(faults) > 0 || r.Failed > 0 {
				t.Error(definition.Name(), repair, r, faults)
			}
			if n%3 == 0 || n%3 == 1 {
				_ = staff.DeleteAny(ctx, at(2))
			}
			if r, faults := mustVerify(t, staff, verify.Options{}, definition); !r.Sound() {
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
	r, _ := mustVerify(t, staff, verify.Options{Repair: true, Partition: sales}, teams)
	if !r.Sound() || r.Repaired != 300 {
		t.Error(r)
	}
	expect(t, "requests", s.Count(), "904 get, 2 query, 4 transaction") // 3 for each to be sure, and the list for each transaction
	k, err := teams.Keys(ctx, staff, sales, "Jones")
	check(err)
	expect(t, "members", len(k), 300)
}

// TestVerifyBeside: what one definition cannot have keeps no other from being repaired.
func TestVerifyBeside(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := campus(t)
	hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	check(d.DeleteAny(ctx, rowAt("department")))
	both, err := index.Attach(staff, nil, byLast)
	check(err)
	r, faults := mustVerify(t, both, verify.Options{Repair: true}, head, byLast)
	expect(t, "faults", faults, map[string]bool{"head missing department w_000001": true, "last missing last_Jones!_w_000001 w_000001": true})
	if r.Repaired != 1 || r.Failed != 1 || r.Sound() {
		t.Error(r)
	}
	expect(t, "filled", ids(t, byLast.List(ctx, both, sales, "Jones")), []int{1})

	// A row without a mark where a unique one should be belongs to another program.
	for rk, d := range map[string]index.Definition[worker]{"email_a": byEmail, "last_Jones!_w_000001": byLast, "age_030_w_000001": byAge} {
		staff, s := office(t, d)
		hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
		row := &table.Row{Key: rowAt(rk)}
		check(row.Set("X", 1))
		_, err = byHand(s).Upsert(ctx, row, table.ReplaceExisting)
		check(err)
		before := fmt.Sprint(s.Rows("staff"))
		for _, repair := range []bool{false, true} {
			if r, _ := mustVerify(t, staff, verify.Options{Repair: repair}, d); r.Sound() || r.Faults[verify.Missing] != 1 || r.Repaired != 0 {
				t.Error(rk, r)
			}
		}
		expect(t, "rows", fmt.Sprint(s.Rows("staff")), before)
	}

	// Another definition of the name is not the one that is attached.
	staff, _ = office(t, byEmail)
	other := index.New("email", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return strings.ToUpper(w.Email), true }, nil)
	var de *index.DefinitionError
	if _, err := verify.Run(ctx, staff, &verify.Options{Repair: true}, other); !errors.As(err, &de) {
		t.Error(err)
	}
	var ve *table.ValueError
	for _, o := range []verify.Options{{Rate: -1}, {Width: -1}, {Partition: sales, Token: "1:S"}} {
		if _, err := verify.Run(ctx, staff, &o, byEmail); !errors.As(err, &ve) {
			t.Error(o, err)
		}
	}
}

// TestHandedOver: a value that changes hands between the two requests of a look-up is found with its new owner.
func TestHandedOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pointer := index.New("mail", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return w.Email, true }, &index.Options[worker]{Unique: index.InPartition, Pointer: true})
	full := index.New("mail", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return w.Email, true }, &index.Options[worker]{Unique: index.InPartition})
	staff, s := office(t, pointer)
	es := hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "b", 30, nil})
	for _, ix := range []*index.Index[worker, string]{pointer, full} { // whose copies are of another kind
		b := &before{Service: s}
		once := false
		b.do = func(r *http.Request) {
			if strings.Contains(r.URL.String(), "RowKey='w_") && !once {
				once = true
				es[0].Value.Email, es[1].Value.Email = es[1].Value.Email, es[0].Value.Email
				_, err := table.Transact(ctx, staff.ReplaceOp(es[0]), staff.ReplaceOp(es[1]))
				check(err)
			}
		}
		slow, err := index.Attach(openAs(s.ConnectionString(), b, schema), nil, ix)
		check(err)
		e, err := ix.Get(ctx, slow, sales, "a")
		if err != nil || e.Value.Email != "a" || !once {
			t.Error(e, err)
		}
	}
}

// TestDetailsMeet: details that could destroy each other, or something else, are refused.
func TestDetailsMeet(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	to := func(w *worker) (keys.Enc, bool) { return keys.Raw("department"), true }
	plain, _ := office(t)
	for what, definitions := range map[string][]index.Definition[worker]{
		"one prefix":     {index.NewDetails("one", "Head", to, last), index.NewDetails("two", "Head", to, email)},
		"a bad name":     {index.NewDetails("the/head", "Head", to, last)},
		"no prefix":      {index.NewDetails("one", "", to, last)},
		"no target":      {index.NewDetails[worker]("one", "Head", nil, last)},
		"no fields":      {index.NewDetails[worker]("one", "Head", to)},
		"a bad prefix":   {index.NewDetails("one", "Head-", to, last)},
		"a moody target": {index.NewDetails("one", "Head", moody(), last)},
		"a bad property": {index.NewLists("one", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return "", true }, &index.ListOptions{Property: "a b"})},
		"a moody measure": {index.NewSummary("one", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return "", true },
			&index.SummaryOptions[worker]{Measures: []index.Measure[worker]{{Name: "M", Of: counting()}}})},
		"a measure of no name": {index.NewSummary("one", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return "", true },
			&index.SummaryOptions[worker]{Measures: []index.Measure[worker]{{Of: func(*worker) (int64, bool) { return 0, false }}}})},
		"a measure twice": {index.NewSummary("one", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return "", true },
			&index.SummaryOptions[worker]{Measures: []index.Measure[worker]{{Name: "M", Of: func(*worker) (int64, bool) { return 0, false }}, {Name: "M", Of: func(*worker) (int64, bool) { return 0, false }}}})},
		"a measure of nothing": {index.NewSummary("one", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return "", true },
			&index.SummaryOptions[worker]{Measures: []index.Measure[worker]{{Name: "M"}}})},
	} {
		var de *index.DefinitionError
		if _, err := index.Attach(plain, nil, definitions...); !errors.As(err, &de) {
			t.Errorf("%s: %v", what, err)
		}
	}
	staff, s := office(t, byEmail, index.NewDetails("bad", "Bad", func(w *worker) (keys.Enc, bool) { return keys.Raw("email_x"), w.Last == "y" }, last))
	hire(t, staff, s, worker{"S", 1, "x", "x", 1, nil})
	var ve *table.ValueError
	if _, err := staff.Insert(ctx, &worker{"S", 2, "y", "", 1, nil}); !errors.As(err, &ve) {
		t.Error(err)
	}
}

func moody() func(*worker) (keys.Enc, bool) {
	n := 0
	return func(*worker) (keys.Enc, bool) { n++; return keys.Raw(fmt.Sprint("x", n)), true }
}

func counting() func(*worker) (int64, bool) {
	n := int64(0)
	return func(*worker) (int64, bool) { n++; return n, true }
}

// TestVerifyMakesNothingUp: a group whose only entity is there whenever entities are read, and gone whenever rows are, is not
// missing, in whatever order the two are read.
func TestVerifyMakesNothingUp(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, repair := range []bool{false, true} {
		staff, s := office(t, ages)
		hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
		there := false
		b := &before{Service: s}
		b.do = func(r *http.Request) {
			address, err := url.QueryUnescape(r.URL.String())
			check(err)
			wanted := !strings.Contains(address, "'ages")
			switch {
			case wanted && !there:
				_, err = staff.Insert(ctx, &worker{"S", 2, "New", "", 30, nil})
			case !wanted && there:
				err = staff.DeleteAny(ctx, at(2))
			}
			check(err)
			there = wanted
		}
		slow, err := index.Attach(openAs(s.ConnectionString(), b, schema), nil, ages)
		check(err)
		r, faults := mustVerify(t, slow, verify.Options{Repair: repair}, ages)
		if len(faults) > 0 || r.Unconfirmed != 1 || r.Repaired+r.Failed > 0 {
			t.Error(repair, r, faults)
		}
		b.do = nil
		if r, faults := mustVerify(t, staff, verify.Options{}, ages); !r.Sound() {
			t.Error(repair, r, faults)
		}
	}
}
