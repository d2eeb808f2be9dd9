package index_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// allRows returns the rows of all tables of a scene.
func (s *elsewhereScene) allRows() string {
	return fmt.Sprint(s.Rows("staff"), s.Rows("staffmail"), s.Rows("staffcopies"))
}

// TestVerifyElsewhereUnreadable: the rows of an entity that cannot be read stay as they are, and the entity is reported.
func TestVerifyElsewhereUnreadable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, newElsewhere())
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, []string{"a", "b"}}, worker{"M", 1, "Jones", "b", 30, []string{"b"}})
	s.drain(t)
	check(t, rawTable(t, s.Service).MergeAny(ctx, keys.Raw("S", "w_000001"), table.PropertyOf[string]("Age").Set("old")))
	before := s.allRows()
	for _, repair := range []bool{false, true} {
		var faults []verify.Fault
		report, err := verify.Repair(ctx, s.staff, &verify.Options{Pass: table.Pass{DryRun: !repair}, Fault: func(f verify.Fault) { faults = append(faults, f) }})
		if err != nil || report.Counts[verify.Unreadable] == 0 || len(derived.Kinds(report)) != 1 || report.Faults == 0 {
			t.Errorf("repair %v: got report %+v, error %v; want unreadable entities only", repair, report, err)
		}
		for _, f := range faults {
			if f.Entity != keys.Raw("S", "w_000001") || f.Err == nil {
				t.Errorf("repair %v: got fault %+v; want the entity ('S','w_000001') and an error", repair, f)
			}
		}
		testkit.Expect(t, fmt.Sprint("rows after repair ", repair), s.allRows(), before)
	}
}

// TestVerifyElsewhereRefused: if the service refuses any one request, Run returns the error, or a report that is not sound, or has done
// its work: a sound report is never wrong.
func TestVerifyElsewhereRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	raw := func(s *elsewhereScene, name string) *table.Table[table.Row] {
		rows, err := bare.NewTable(s.Tables(), name, table.Schema[table.Row]{}, quick())
		check(t, err)
		return door.Rows[table.Table[table.Row]](door.Table(rows), false)
	}
	damaged := func() *elsewhereScene {
		s := newElsewhereScene(t, newElsewhere())
		insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, []string{"a", "b"}}, worker{"M", 1, "Jones", "b", 30, []string{"b"}}, worker{"M", 2, "Smith", "c", 30, nil})
		s.drain(t)
		check(t, raw(s, "staffmail").DeleteAny(ctx, keys.Raw("mail_a", "mail_a_S:w_000001")))
		check(t, raw(s, "staffmail").MergeAny(ctx, keys.Raw("mail_b", "mail_b_M:w_000001"), table.PropertyOf[int32]("Age").Set(99)))
		return s
	}
	for _, repair := range []bool{false, true} {
		refused := 0
		clean := damaged()
		clean.Count()
		_, err := verify.Repair(ctx, clean.staff, &verify.Options{Pass: table.Pass{DryRun: !repair}})
		check(t, err)
		last := 0
		for _, n := range clean.Count() {
			last += n
		}
		for n := 1; n <= last; n++ {
			s := damaged()
			count := 0
			s.SetFaults(func(storagetest.Request) storagetest.Fault {
				if count++; count == n {
					return storagetest.Refuse(403, "AuthorizationFailure")
				}
				return storagetest.Fault{}
			})
			report, err := verify.Repair(ctx, s.staff, &verify.Options{Pass: table.Pass{DryRun: !repair}})
			s.SetFaults(nil)
			var re *azcore.ResponseError
			switch {
			case err != nil && (!errors.As(err, &re) || re.StatusCode != 403):
				t.Errorf("repair %v, request %d: got error %v; want an *azcore.ResponseError with status 403", repair, n, err)
			case err != nil:
				refused++
			case report.Faults == 0 && checkElsewhere(s.Service) != nil:
				t.Errorf("repair %v, request %d: got a sound report %+v; want an error: %v", repair, n, report, checkElsewhere(s.Service))
			}
			if report, err := verify.Repair(ctx, s.staff, nil); err != nil || report.Faults > 0 || checkElsewhere(s.Service) != nil {
				t.Errorf("repair %v, request %d: the next run: got report %+v, error %v, %v; want a sound report and right rows", repair, n, report, err, checkElsewhere(s.Service))
			}
		}
		if refused < 10 {
			t.Errorf("repair %v: got %d runs that failed, want 10 or more", repair, refused)
		}
	}
}

// TestVerifyElsewherePartition: a run for one partition finds and repairs the faults of its entities, and leaves those of others.
func TestVerifyElsewherePartition(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, newElsewhere())
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil}, worker{"M", 1, "Jones", "b", 30, nil})
	s.drain(t)
	rows, err := bare.NewTable(s.Tables(), "staffmail", table.Schema[table.Row]{}, quick())
	check(t, err)
	mail := door.Rows[table.Table[table.Row]](door.Table(rows), false)
	check(t, mail.DeleteAny(ctx, keys.Raw("mail_a", "mail_a_S:w_000001")))
	check(t, mail.DeleteAny(ctx, keys.Raw("mail_b", "mail_b_M:w_000001")))
	for _, c := range []struct {
		partitions keys.PartitionRange
		missing    int
	}{{sales.Point(), 1}, {sales.Point(), 0}, {keys.PartitionRange{}, 1}, {keys.PartitionRange{}, 0}} {
		report, err := verify.Repair(ctx, s.staff, &verify.Options{Pass: table.Pass{Partitions: c.partitions}})
		if err != nil || report.Faults > 0 || report.Counts[verify.Missing] != c.missing || len(derived.Kinds(report)) > c.missing {
			t.Errorf("partitions %v: got report %+v, error %v; want %d missing rows, repaired", c.partitions, report, err, c.missing)
		}
	}
	check(t, checkElsewhere(s.Service))
}

// TestVerifyElsewhereRange: a run over a range of partitions reads the entities of the range and the rows that these record, whatever the
// size of the index, and no others. A run of the records alone reads no rows.
func TestVerifyElsewhereRange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, newElsewhere())
	for i := range 40 {
		for _, d := range []string{"K", "M", "S"} {
			insertAll(t, s.staff, s.Service, worker{d, i, fmt.Sprint("Jones", d), fmt.Sprint(d, i), 44, nil})
		}
	}
	s.drain(t)
	departments := keys.Partition(keys.Text(), func(w *worker) *string { return &w.Dept })
	run := func(what string, o verify.Options, entities, rows int, sent string) table.Progress {
		t.Helper()
		s.Count()
		report, err := verify.Repair(ctx, s.staff, &o)
		check(t, err)
		got := s.Count()
		if report.Counts["derived rows"] != rows || report.Rows != entities || got.String() != sent {
			t.Errorf("%s: got %+v and the requests %v; want %d entities, %d rows and %s", what, report, got, entities, rows, sent)
		}
		return report
	}
	run("two partitions", verify.Options{Pass: table.Pass{DryRun: true, Partitions: departments.Between("L", "S")}}, 80, 80*3, "240 get, 5 query")
	run("one partition", verify.Options{Pass: table.Pass{DryRun: true, Partitions: sales.Point()}}, 40, 40*3, "120 get, 1 query")
	run("none", verify.Options{Pass: table.Pass{DryRun: true, Partitions: departments.Between("T", "Z")}}, 0, 0, "1 query")
	run("records of two partitions", verify.Options{Pass: table.Pass{DryRun: true, Partitions: departments.Between("L", "S")}, RecordsOnly: true}, 80, 0, "5 query")
	run("records of all", verify.Options{Pass: table.Pass{DryRun: true}, RecordsOnly: true}, 120, 0, "13 query")
	mail, err := bare.NewTable(s.Tables(), "staffmail", table.Schema[table.Row]{}, quick())
	check(t, err)
	rows := door.Rows[table.Table[table.Row]](door.Table(mail), false)
	check(t, rows.DeleteAny(ctx, keys.Raw("mail_k3", "mail_k3_K:w_000003")))
	check(t, rows.DeleteAny(ctx, keys.Raw("mail_s3", "mail_s3_S:w_000003")))
	for _, c := range []struct {
		o       verify.Options
		missing int
	}{
		{verify.Options{Pass: table.Pass{DryRun: true, Partitions: departments.Between("A", "M")}}, 1},
		{verify.Options{Pass: table.Pass{DryRun: true, Partitions: departments.Between("L", "S")}}, 1},
		{verify.Options{Pass: table.Pass{DryRun: true, Partitions: departments.Between("L", "S")}, RecordsOnly: true}, 0},
		{verify.Options{Pass: table.Pass{DryRun: true}, MostRows: 1}, 2},
		{verify.Options{Pass: table.Pass{DryRun: true}, MostRows: 1, RecordsOnly: true}, 0},
		{verify.Options{Pass: table.Pass{Partitions: departments.AtLeast("L")}}, 1},
		{verify.Options{Pass: table.Pass{DryRun: true}}, 1},
	} {
		report, err := verify.Repair(ctx, s.staff, &c.o)
		if err != nil || report.Counts[verify.Missing] != c.missing || len(derived.Kinds(report)) > min(c.missing, 1) {
			t.Errorf("%+v: got %+v, %v; want %d missing rows", c.o, report, err, c.missing)
		}
	}
}

// TestFillForeignRow: a row of another program under the key of a missing row is a fault of the fill that is not repaired, and keeps the rows of
// other entities from nothing.
func TestFillForeignRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := newElsewhere()
	s := newElsewhereScene(t, d, d.mail)
	base, err := bare.NewTable(s.Tables(), "staff", schema, quick())
	check(t, err)
	for i := range 5 {
		_, err := base.Insert(ctx, &worker{"S", i, "Jones", fmt.Sprint("m", i), 30, nil})
		check(t, err)
	}
	_, err = s.Tables().NewClient("staffmail").AddEntity(ctx, []byte(`{"PartitionKey":"mail_m3","RowKey":"mail_m3_S:w_000003","Other":1}`), nil)
	check(t, err)
	var left []verify.Fault
	report, err := verify.Repair(ctx, s.staff, &verify.Options{Fault: func(f verify.Fault) {
		if !f.Repaired {
			left = append(left, f)
		}
	}})
	if err != nil || report.Faults == 0 || report.Counts["failed"] != 1 || report.Changed != 4 || len(left) != 1 || left[0].Entity != at(3) || !errors.Is(left[0].Err, table.ErrForeignRow) {
		t.Errorf("got %+v, %v and the faults %+v; want 4 rows repaired, and ErrForeignRow for one", report, err, left)
	}
	for i := range 5 {
		_, err := d.mail.Get(ctx, s.staff, fmt.Sprint("m", i))
		if (err == nil) != (i != 3) {
			t.Errorf("look-up of m%d: got %v; want an error for m3 alone", i, err)
		}
	}
}

// TestTokensOfRanges: a token is of its range and of RecordsOnly, and a run of another refuses it.
func TestTokensOfRanges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, newElsewhere())
	for _, d := range []string{"K", "M", "S"} {
		insertAll(t, s.staff, s.Service, worker{d, 1, "Jones", d, 44, nil})
	}
	s.drain(t)
	departments := keys.Partition(keys.Text(), func(w *worker) *string { return &w.Dept })
	all := []verify.Options{{Pass: table.Pass{DryRun: true}}, {Pass: table.Pass{DryRun: true, Partitions: departments.AtLeast("L")}}, {Pass: table.Pass{DryRun: true, Partitions: departments.AtLeast("M")}}, {Pass: table.Pass{DryRun: true}, RecordsOnly: true}, {Pass: table.Pass{DryRun: true, Partitions: departments.AtLeast("L")}, RecordsOnly: true}}
	for i, o := range all {
		report, err := verify.Repair(ctx, s.staff, &o)
		check(t, err)
		for j, other := range all {
			other.Token = report.Token
			_, err := verify.Repair(ctx, s.staff, &other)
			if i == 0 && report.Token == "" {
				continue // all definitions are elsewhere, and read as a whole
			}
			if refused := errors.As(err, new(*table.ValueError)); refused != (i != j) {
				t.Errorf("a token of %+v in %+v: got %v; want a *table.ValueError: %v", o, other, err, i != j)
			}
		}
	}
}
