package index_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// verifyAll verifies all definitions of a scene.
func (s *elsewhereScene) verifyAll(t testing.TB, repair bool) table.Progress {
	t.Helper()
	report, err := verify.Repair(context.Background(), s.staff, &verify.Options{Pass: table.Pass{DryRun: !repair}, MostRows: s.mostRows, Fault: func(f verify.Fault) {
		if repair && !f.Repaired {
			t.Errorf("fault %+v is not repaired", f)
		}
	}})
	check(t, err)
	return report
}

// verifyReport verifies all definitions of a scene without repair.
func (s *elsewhereScene) verifyReport(t testing.TB) table.Progress { return s.verifyAll(t, false) }

// TestVerifyElsewhereFillRequests: what it takes to fill one definition for 200 entities from before it, as docs/indexes.md says.
func TestVerifyElsewhereFillRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const n = 200
	d := newElsewhere()
	global := index.NewUnique("login", keys.Text(), func(w *worker) (string, bool) { return w.Email, w.Email != "" }, nil)
	for what, c := range map[string]struct {
		definition extend.Definition[worker]
		want       int
	}{
		"a full copy":  {d.mail, n + 22},
		"a pointer":    {d.age, 9},
		"three values": {d.tag, 16},
		"unique":       {global, 2*n + 16},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newElsewhereScene(t, d, c.definition)
			base, err := bare.NewTable(s.Tables(), "staff", schema, quick())
			check(t, err)
			for i := range n {
				_, err := base.Insert(ctx, &worker{"S", i, "Jones", fmt.Sprint("m", i), 30, []string{"x", "y", "z"}})
				check(t, err)
			}
			s.verifyAll(t, false)
			s.Count()
			s.verifyAll(t, true)
			sent := s.Count()
			t.Log(sent)
			testkit.Expect(t, "requests", sent.Total(), c.want)
			if report := s.verifyAll(t, false); report.Faults > 0 {
				t.Errorf("after the fill: got %+v; want a sound table", report)
			}
		})
	}
}

// TestVerifyElsewhereFill: entities from before the definitions get their rows.
func TestVerifyElsewhereFill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, newElsewhere())
	base, err := bare.NewTable(s.Tables(), "staff", schema, quick())
	check(t, err)
	for i := range 25 {
		_, err := base.Insert(ctx, &worker{[]string{"S", "M"}[i%2], i, []string{"Jones", "Smith"}[i%2], fmt.Sprint("m", i), 30, []string{"x"}})
		check(t, err)
	}
	if report := s.verifyAll(t, false); report.Counts[verify.Missing] != 25*4 || report.Faults == 0 || report.Rows != 25 {
		t.Errorf("got report %+v; want 100 missing rows", report)
	}
	testkit.Expect(t, "rows before the repair", len(s.Rows("staffmail"))+len(s.Rows("staffcopies")), 0)
	if report := s.verifyAll(t, true); report.Counts[verify.Missing] != 25*4 || report.Faults > 0 {
		t.Errorf("got report %+v; want 100 missing rows, all repaired", report)
	}
	check(t, checkElsewhere(s.Service))
	s.Count()
	if report := s.verifyAll(t, true); len(derived.Kinds(report)) > 0 || report.Faults > 0 {
		t.Errorf("got report %+v; want no fault", report)
	}
	testkit.Expect(t, "requests of a sound table", s.Count().String(), "8 query") // of 4 definitions and the entities, and of what crashed programs have left in 3 tables
	s.drain(t)
}

// TestVerifyElsewhereDamage: rows that other programs have deleted, changed or inserted are found and repaired.
func TestVerifyElsewhereDamage(t *testing.T) {
	t.Parallel()
	for _, most := range []int{0, 1} {
		t.Run(fmt.Sprint(most, " rows in memory"), func(t *testing.T) {
			t.Parallel()
			verifyElsewhereDamage(t, most)
		})
	}
}

func verifyElsewhereDamage(t *testing.T, mostRows int) {
	ctx := context.Background()
	s := newElsewhereScene(t, newElsewhere())
	s.mostRows = mostRows
	all := insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, []string{"a", "b"}}, worker{"M", 1, "Jones", "b", 30, []string{"b"}}, worker{"M", 2, "Smith", "c", 30, nil})
	s.drain(t)
	raw := func(name string) *table.Table[table.Row] {
		rows, err := bare.NewTable(s.Tables(), name, table.Schema[table.Row]{}, quick())
		check(t, err)
		return door.Rows[table.Table[table.Row]](door.Table(rows), false)
	}
	damages := map[string]struct {
		kind string
		n    int
		do   func() error
	}{
		"a deleted copy": {verify.Missing, 1, func() error {
			return raw("staffmail").DeleteAny(ctx, keys.Raw("mail_a", "mail_a_S:w_000001"))
		}},
		"a changed copy": {verify.Stale, 1, func() error {
			rows := raw("staffmail")
			e, err := rows.Get(ctx, keys.Raw("mail_b", "mail_b_M:w_000001"))
			if err == nil {
				err = e.Value.Set("Age", 99)
			}
			return errors.Join(err, rows.Replace(ctx, e))
		}},
		"a dangling copy": {verify.Dangling, 1, func() error {
			rows := raw("staffmail")
			row, err := tabledoor.GetRow(ctx, rows, keys.Raw("mail_b", "mail_b_M:w_000001"))
			if err != nil {
				return err
			}
			_, err = rows.InsertAt(ctx, keys.Raw("mail_z", "mail_z_M:w_000001"), row.At(keys.Raw("mail_z", "mail_z_M:w_000001")))
			return err
		}},
		"a copy of no entity": {verify.Dangling, 1, func() error {
			k := keys.Raw("mail_b", "mail_b_M:w_000009")
			_, err := raw("staffmail").InsertAt(ctx, k, (*table.Row)(stored.New(keys.Raw("M", "w_000009"), nil).Copy(k, "")))
			return err
		}},
		"a deleted pointer": {verify.Missing, 1, func() error {
			for _, r := range s.Rows("staffcopies") {
				if strings.HasPrefix(r.RowKey, "tag_a_") {
					return raw("staffcopies").DeleteAny(ctx, keys.Raw(r.PartitionKey, r.RowKey))
				}
			}
			return errors.New("no pointer")
		}},
		"an entity without its state": {verify.StateMismatch, 2, func() error {
			base, err := bare.NewTable(s.Tables(), "staff", schema, quick())
			if err == nil {
				_, err = base.Upsert(ctx, &all[2].Value, table.ReplaceExisting)
			}
			return err
		}},
	}
	for name, d := range damages {
		check(t, d.do())
		if checkElsewhere(s.Service) == nil && d.kind != verify.StateMismatch {
			t.Errorf("%s: got right rows; want a damage", name)
		}
		before := fmt.Sprint(s.Rows("staffmail"), s.Rows("staffcopies"), s.Rows("staff"))
		report := s.verifyAll(t, false)
		if n := report.Counts[d.kind]; n != d.n || report.Faults == 0 {
			t.Errorf("%s: got report %+v; want %d of kind %v", name, report, d.n, d.kind)
		}
		if now := fmt.Sprint(s.Rows("staffmail"), s.Rows("staffcopies"), s.Rows("staff")); now != before {
			t.Errorf("%s: a run without Repair has changed rows", name)
		}
		if report := s.verifyAll(t, true); report.Faults > 0 || mostRows == 0 && report.Counts[d.kind] != d.n {
			t.Errorf("%s: got report %+v; want all faults repaired, %d of kind %v", name, report, d.n, d.kind)
		}
		if report := s.verifyAll(t, false); len(derived.Kinds(report)) > 0 {
			t.Errorf("%s: got report %+v after the repair; want no faults", name, report)
		}
		s.drain(t)
	}
	// Tombstones are swept once they are old.
	s.Advance(26 * time.Hour)
	report := s.verifyAll(t, true)
	for _, r := range s.Rows("staffmail") {
		if r.Get("Email") == nil {
			t.Errorf("got tombstone %v after report %+v; want none", r, report)
		}
	}
	check(t, checkElsewhere(s.Service))
}

// TestVerifyElsewherePending: rows that a worker is still to change are no faults. If the queue has lost the notification, it is sent
// again after 10 minutes.
func TestVerifyElsewherePending(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, newElsewhere())
	e := insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})[0]
	s.drain(t)
	e.Value.Email = "b"
	check(t, s.staff.Replace(ctx, e))
	_, err := s.Service.Queues().NewQueueClient("effects").ClearMessages(ctx, nil)
	check(t, err)
	for _, repair := range []bool{false, true} {
		if report := s.verifyAll(t, repair); report.Counts["pending"] == 0 || len(derived.Kinds(report)) > 0 || report.Counts["notified"] > 0 || report.Faults > 0 {
			t.Errorf("got report %+v; want pending rows, and no faults", report)
		}
	}
	s.Advance(11 * time.Minute)
	if report := s.verifyAll(t, true); report.Counts["pending"] == 0 || len(derived.Kinds(report)) > 0 || report.Counts["notified"] != 1 {
		t.Errorf("got report %+v; want pending rows, and 1 notification", report)
	}
	testkit.Expect(t, "messages", len(s.Messages("effects")), 1)
	s.drain(t)
	if report := s.verifyAll(t, false); report.Counts["pending"] > 0 || len(derived.Kinds(report)) > 0 {
		t.Errorf("got report %+v; want nothing", report)
	}
}

// TestVerifyElsewhereChanged: a difference that is gone when it is confirmed is no fault.
func TestVerifyElsewhereChanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := newElsewhere()
	for what, c := range map[string]struct {
		damage func(s *elsewhereScene, mail *table.Table[table.Row], base *table.Table[worker]) error
		mend   func(s *elsewhereScene, mail *table.Table[table.Row]) error // before it is confirmed
	}{
		"a row of no entity, which is deleted": {
			func(s *elsewhereScene, mail *table.Table[table.Row], _ *table.Table[worker]) error {
				k := keys.Raw("mail_b", "mail_b_S:w_000002")
				_, err := mail.InsertAt(ctx, k, (*table.Row)((*stored.Row)((&table.Row{Key: at(2)})).Copy(k, "")))
				return err
			},
			func(s *elsewhereScene, mail *table.Table[table.Row]) error {
				return mail.DeleteAny(ctx, keys.Raw("mail_b", "mail_b_S:w_000002"))
			},
		},
		"an entity without maintainer state, which its writer writes": {
			func(_ *elsewhereScene, _ *table.Table[table.Row], base *table.Table[worker]) error {
				_, err := base.Insert(ctx, &worker{"S", 2, "Cao", "b", 40, nil})
				return err
			},
			func(s *elsewhereScene, _ *table.Table[table.Row]) error {
				_, err := s.staff.Update(ctx, at(2), func(w *worker) error { w.Age++; return nil })
				return err
			},
		},
	} {
		for _, repair := range []bool{false, true} {
			t.Run(fmt.Sprint(what, " repair ", repair), func(t *testing.T) {
				t.Parallel()
				s := newElsewhereScene(t, d, d.mail)
				insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
				check(t, s.worker.Drain(ctx))
				rows, err := bare.NewTable(s.Tables(), "staffmail", table.Schema[table.Row]{}, quick())
				check(t, err)
				base, err := bare.NewTable(s.Tables(), "staff", schema, quick())
				check(t, err)
				mail := door.Rows[table.Table[table.Row]](door.Table(rows), false)
				check(t, c.damage(s, mail, base))
				mended := false
				hooked := &testkit.Hooked{Service: s.Service, Serial: true, BeforeRequest: func(r *http.Request) {
					if !mended && (strings.Contains(r.URL.Path, "RowKey=") || strings.HasSuffix(r.URL.Path, "$batch")) {
						mended = true
						checkInHook(t, c.mend(s, mail))
					}
				}}
				acc, err := account.FromTransport(hooked, nil)
				check(t, err)
				slow, _, _, err := openElsewhere(acc, quick(), d.mail)
				check(t, err)
				report, err := verify.Repair(ctx, slow, &verify.Options{Pass: table.Pass{DryRun: !repair}})
				if err != nil || !mended || len(derived.Kinds(report)) > 0 || report.Counts["unconfirmed"] > 0 {
					t.Errorf("got report %+v, error %v, mended %v; want no fault", report, err, mended)
				}
			})
		}
	}
}

// TestVerifyElsewhereRanged: with a signature for a range of keys, a run is refused.
func TestVerifyElsewhereRanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := newElsewhere()
	s := newElsewhereScene(t, d, d.age)
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
	check(t, s.worker.Drain(ctx))
	holder, err := baretest.WithOutbox(grantedOf(t, s.Service, account.Grant{Rows: wid.Rows().All(), Partitions: sales.Point()}), s.out)
	check(t, err)
	holder, err = baretest.Attach(holder, d.age)
	check(t, err)
	before := fmt.Sprint(s.Rows("staff"))
	if report, err := verify.Repair(ctx, holder, nil); !errors.Is(err, table.ErrRanged) || len(derived.Kinds(report)) > 0 {
		t.Errorf("got report %+v, error %v; want ErrRanged", report, err)
	}
	testkit.Expect(t, "rows", fmt.Sprint(s.Rows("staff")), before)
}

// TestVerifyElsewhereConcurrent: a fill beside writers, in random schedules with faults. Afterwards the rows are right.
func TestVerifyElsewhereConcurrent(t *testing.T) {
	t.Parallel()
	build := func() crashtest.Workload {
		d := newElsewhere()
		fill := func(ctx context.Context, p *crashtest.Process) error {
			staff, _, _, err := openProcess(p, d)
			if err != nil {
				return err
			}
			_, err = verify.Repair(ctx, staff, nil)
			return err
		}
		return crashtest.Workload{
			Setup: func(ctx context.Context, p *crashtest.Process) error {
				staff, _, w, err := openProcess(p, d)
				if err != nil {
					return err
				}
				if err := errors.Join(tabledoor.Ensure(ctx, staff), baretest.Ensure(ctx, staff), w.Ensure(ctx)); err != nil {
					return err
				}
				base, err := tableOf(p, schema)
				for i := 1; err == nil && i < 5; i++ {
					_, err = base.Insert(ctx, &worker{"S", i, "Jones", "a", 30, []string{"x"}})
				}
				return err
			},
			Processes: []func(context.Context, *crashtest.Process) error{
				fill,
				func(ctx context.Context, p *crashtest.Process) error {
					staff, _, _, err := openProcess(p, d)
					for range 4 {
						if err == nil {
							_ = randomWrite(ctx, staff, p.Rand())
						}
					}
					return err
				},
				func(ctx context.Context, p *crashtest.Process) error {
					_, _, w, err := openProcess(p, d)
					if err == nil {
						_ = w.Drain(ctx)
					}
					return err
				},
			},
			Drain: func(ctx context.Context, p *crashtest.Process) error {
				return errors.Join(drainElsewhere(d)(ctx, p), fill(ctx, p))
			},
			Check: func(s *storagetest.Service) error { return checkConverged(s) },
		}
	}
	o := crashtest.Options{Runs: *schedulesElsewhere / 3, FaultRate: 0.05}
	if testing.Short() {
		o.Runs = min(o.Runs, 20)
	}
	r := crashtest.Schedules(t, build, testkit.Crash(o))
	r.Require(t)
	t.Log(r)
}
