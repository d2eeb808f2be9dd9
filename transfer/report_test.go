package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// TestReportOfSnapshots: each report of an export with snapshots says so, and names the torn partitions of its own call; the report of the last call is of all, and
// claims no more than a process that has begun without stamps.
func TestReportOfSnapshots(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{"a": 10, "b": 210, "c": 10}
	b := newBank(t, sizes)
	var memory transfer.Memory
	n, torn := 0, 0
	counters := paged(b, 100, func() {
		if n++; n == 6 { // between the pages of b
			testkit.NoError(t, b.add(t.Context(), "b", sizes["b"]))
		}
	})
	part := counterTeam.Before("c")
	first, err := transfer.Export(t.Context(), counters, &memory, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1, Progress: func(r table.Progress) {
		torn = max(torn, r.Counts["torn"])
		if r.Counts["snapshots"] != 1 {
			t.Errorf("got %+v; want snapshots", r)
		}
	}}, Part: part, ChunkBytes: 6000})
	testkit.NoError(t, err)
	if first.Counts["snapshots"] != 1 || first.Counts["torn"] != 1 || torn != 1 {
		t.Errorf("the part: got %+v, and %d torn in its progress; want 1 torn partition", first, torn)
	}
	rest, err := transfer.Export(t.Context(), counters, &memory, nil)
	testkit.NoError(t, err)
	if rest.Counts["snapshots"] != 1 || rest.Counts["torn"] != 1 || rest.Changed != rest.Rows-first.Rows {
		t.Errorf("the rest: got %+v; want 1 torn partition, and the rows that %+v lacks", rest, first)
	}

	var shared transfer.Memory
	n = 0
	report, err := transfer.Export(t.Context(), paged(b, 100, func() {
		if n++; n == 6 {
			testkit.NoError(t, shared.AddHeader("counters"))
		}
	}), &shared, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}})
	if err != nil || report.Counts["snapshots"] != 0 {
		t.Errorf("beside a process without stamps: got %+v, %v; want no snapshots", report, err)
	}
}

// TestEntitiesIntoDefinitions: an export of entities has no derived rows, so that Import does not take it for one of a table with definitions. It is finished without
// a look at these.
func TestEntitiesIntoDefinitions(t *testing.T) {
	t.Parallel()
	ctx, at := t.Context(), &transfer.Memory{}
	from, to := openOffice(storagetest.New(nil)), openOffice(storagetest.New(nil))
	testkit.NoError(t, from.Ensure(ctx))
	testkit.NoError(t, to.Ensure(ctx))
	_, err := from.staff.Insert(ctx, &person{Team: "a", ID: 1, Email: "x", City: "Oslo"})
	testkit.NoError(t, err)
	_, err = transfer.Export(ctx, from.staff, &transfer.Crashing{Place: at, At: 3}, &transfer.ExportOptions{Entities: true})
	if !errors.Is(err, transfer.ErrCrash) {
		t.Errorf("got error %v; want ErrCrash", err)
	}
	_, err = transfer.Export(ctx, from.staff, at, &transfer.ExportOptions{Entities: true})
	testkit.NoError(t, err)
	if _, err := transfer.Import(ctx, transfer.Exported(at), to.staff, nil); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("got error %v; want ErrNotDeclared", err)
	}
}

// TestRates: an export and an import have the rate that their options say.
func TestRates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := filled(t, "source", manyRows(1, 5000)...)
		for what, move := range map[string]func() error{
			"export": func() error {
				_, err := transfer.Export(ctx, tableOf(t, s, "source"), &transfer.Memory{}, &transfer.ExportOptions{Pass: table.Pass{Rate: 500, Concurrency: 1}})
				return err
			},
			"copy": func() error {
				_, err := transfer.Copy(ctx, tableOf(t, s, "source"), tableOf(t, s, "copied"), &transfer.ImportOptions{Pass: table.Pass{Rate: 500}})
				return err
			},
		} {
			began := time.Now()
			testkit.NoError(t, move())
			if took := time.Since(began); took < 7*time.Second || took > 12*time.Second {
				t.Errorf("%s: got %v; want about 10 s for 5,000 rows", what, took)
			}
		}
	})
}

// TestImportKeepsDefinitions: the row of a table's definitions stays as it is in each mode, whatever the import brings, and rows of the holders of leases stay away.
func TestImportKeepsDefinitions(t *testing.T) {
	t.Parallel()
	ctx, at, source := t.Context(), &transfer.Memory{}, storagetest.New(nil)
	from := openOffice(source)
	testkit.NoError(t, from.Ensure(ctx))
	_, err := from.staff.Insert(ctx, &person{Team: "a", ID: 1})
	testkit.NoError(t, err)
	fill(t, source, "staff", jsonRow("a", "~h|night", `"Token":1`))
	_, err = transfer.Export(ctx, from.staff, at, nil)
	testkit.NoError(t, err)
	salary := index.New("salary", keys.Digits[int64](9), func(p *person) (int64, bool) { return p.Salary, true }, nil)
	other := storagetest.New(nil)
	others := openOffice(other, salary)
	testkit.NoError(t, others.Ensure(ctx))
	for name, c := range map[string]struct {
		to      *office
		service *storagetest.Service
		kept    int
	}{"the same definitions": {from, source, 0}, "others": {others, other, 1}} {
		before := contentOf(c.service, "staff")
		var kept []keys.Key
		last := table.Progress{}
		report, err := transfer.Import(ctx, transfer.Exported(at), c.to.staff, &transfer.ImportOptions{Pass: table.Pass{Progress: func(r table.Progress) { last = r }}, Mode: transfer.Replace, OtherDefinitions: true, Kept: func(k keys.Key) { kept = append(kept, k) }})
		testkit.NoError(t, err)
		if report.Counts["kept"] != c.kept || len(kept) != c.kept || report.Counts["same"] != 1-c.kept || report.Skipped != 1 || !reflect.DeepEqual(last, report) {
			t.Errorf("%s: got %+v, kept %v, and %+v at last; want %d kept, and 1 skipped", name, report, kept, last, c.kept)
		}
		after := contentOf(c.service, "staff")
		if after[len(after)-1] != before[len(before)-1] {
			t.Errorf("%s: got %q; want the definitions of before", name, after)
		}
	}
	if rows := contentOf(other, "staff"); slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, "~h|") }) {
		t.Errorf("got %q; want no holder", rows)
	}
}

// TestImportDoesNotKnow: an import goes on behind requests of which it does not know whether they were executed, and a row with more properties is another one.
func TestImportDoesNotKnow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := filled(t, "staff", jsonRow("a", "1", `"N":1`), jsonRow("a", "2", `"N":1`), jsonRow("a", "3", `"N":1,"M":1`))
		for _, c := range []struct {
			mode transfer.Mode
			lost storagetest.Fault
			want table.Progress
		}{
			{transfer.Insert, storagetest.LostRequest(), table.Progress{Rows: 3, Counts: map[string]int{"same": 1, "kept": 2}}},
			{transfer.Replace, storagetest.LostRequest(), table.Progress{Rows: 3, Changed: 3}},
			{transfer.Replace, storagetest.LostResponse(), table.Progress{Rows: 3, Changed: 3}},
		} {
			other, sent := storagetest.New(nil), 0
			fill(t, other, "staff", jsonRow("a", "1", `"N":1`), jsonRow("a", "2", `"N":1,"M":1`), jsonRow("a", "3", `"N":1`))
			other.SetFaults(func(r storagetest.Request) storagetest.Fault {
				if r.Kind != requests.Transaction {
					return storagetest.Fault{}
				}
				if sent++; sent > 150 { // more than are sent of one transaction
					return storagetest.Fault{}
				}
				return c.lost
			})
			o := &transfer.ImportOptions{Mode: c.mode}
			report, err := transfer.Copy(t.Context(), tableOf(t, s, "staff"), tableOf(t, other, "staff"), o)
			testkit.NoError(t, err)
			testkit.Expect(t, fmt.Sprintf("mode %d, %v", c.mode, c.lost), report, c.want)
			if c.mode == transfer.Replace {
				expectSame(t, s, "staff", other, "staff")
			}
		}
	})
}

// TestImportEnds: an import that ends while it waits for its rate says so, and counts what it has stored.
func TestImportEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, other := filled(t, "staff", manyRows(5, 1)...), storagetest.New(nil)
		ctx, stop := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer stop()
		o := &transfer.ImportOptions{Pass: table.Pass{Rate: 1}}
		report, err := transfer.Copy(ctx, tableOf(t, s, "staff"), tableOf(t, other, "staff"), o)
		stored := len(other.Rows("staff"))
		if !errors.Is(err, context.DeadlineExceeded) || report.Changed != stored || stored == 0 || stored == 5 {
			t.Errorf("got %+v, %v, and %d rows; want some of 5, and DeadlineExceeded", report, err, stored)
		}
	})
}
