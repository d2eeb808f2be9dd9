package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// citizen has a name in two parts. Version 0 has the whole name in the column Name.
type citizen struct {
	Town        string
	ID          int
	First, Last string
}

var (
	town         = keys.Partition(keys.Text(), func(p *citizen) *string { return &p.Town })
	citizenID    = keys.Row(keys.Digits[int](5), func(p *citizen) *int { return &p.ID })
	splitName    = map[int]func(*table.Row) error{0: splitNames}
	citizenSplit = &aztablekit.Settings[citizen]{Schema: table.Schema[citizen]{Version: 1, Upgrade: splitName}}
)

func splitNames(r *table.Row) error {
	name, _ := r.Get("Name")
	text, _ := name.(string)
	first, last, ok := strings.Cut(text, " ")
	if !ok {
		return errors.New("the name has one word")
	}
	r.Delete("Name")
	return errors.Join(r.Set("First", first), r.Set("Last", last))
}

// hasName reports that a program without versions has merged a name into a row.
func hasName(r *table.Row) (version int, is bool) {
	_, is = r.Get("Name")
	return 0, is
}

// newPeople returns a table with n rows of version 0, as a program without versions stores them, in three partitions, and its client.
func newPeople(t *testing.T, n int, definitions ...aztablekit.Definition[citizen]) (*table.Table[citizen], *aztablekit.Store, *testkit.Hooked) {
	t.Helper()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	raw := s.Tables().NewClient("people")
	noError(t, second(raw.CreateTable(t.Context(), nil)))
	for at := 0; at < n; at += 100 {
		for p := range 3 {
			var batch []aztables.TransactionAction
			for i := at; i < min(at+100, n); i++ {
				if i%3 == p {
					batch = append(batch, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: fmt.Appendf(nil, `{"PartitionKey":"town%d","RowKey":"%05d","Name":"F%d L%d"}`, p, i, i, i%7)})
				}
			}
			if batch != nil {
				noError(t, second(raw.SubmitTransaction(t.Context(), batch, nil)))
			}
		}
	}
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	store := aztablekit.Open(acc, "towns", &aztablekit.Options{Common: singleWait()})
	people := aztablekit.Table(store, "people", town, citizenID, append(definitions, citizenSplit)...)
	noError(t, store.Ensure(t.Context()))
	noError(t, store.Ensure(t.Context()))
	s.Count()
	return people, store, s
}

// peopleMerged returns another handle of the table of newPeople, with Schema.Merged.
func peopleMerged(t *testing.T, s *testkit.Hooked, merged func(*table.Row) (int, bool)) *table.Table[citizen] {
	t.Helper()
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	schema := table.Schema[citizen]{Version: 1, Upgrade: splitName, Merged: merged}
	store := aztablekit.Open(acc, "towns", &aztablekit.Options{Common: singleWait()})
	return aztablekit.Table(store, "people", town, citizenID, &aztablekit.Settings[citizen]{Schema: schema})
}

// singleWait does not wait between attempts.
func singleWait() (c table.Common) {
	c.Retry.Wait, c.Retry.ConflictWait = -1, -1
	return c
}

var wholeTable = table.Query[citizen]{TableScan: true}

// expectUpgraded checks that all rows are stored in version 1, as the numbers in their keys say.
func expectUpgraded(t *testing.T, s *testkit.Hooked, n int) {
	t.Helper()
	found := 0
	for _, r := range s.Rows("people") {
		if strings.HasPrefix(r.RowKey, "~") {
			continue
		}
		found++
		var i int
		_, err := fmt.Sscanf(r.RowKey, "%d", &i)
		noError(t, err)
		if r.Get("_v") != int32(1) || r.Get("Name") != nil || r.Get("First") != fmt.Sprint("F", i) || r.Get("Last") != fmt.Sprint("L", i%7) {
			t.Errorf("got row %v; want F%d L%d in version 1", r, i, i%7)
		}
	}
	if found != n {
		t.Errorf("got %d rows; want %d", found, n)
	}
}

// TestUpgrade: all rows of older versions are stored in the schema's, by 1 request for each 100 of a partition, and once.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	people, _, s := newPeople(t, 2400)
	dry, err := table.Upgrade(ctx, people, wholeTable, &table.Pass{DryRun: true})
	if want := (table.Progress{Rows: 2400, Changed: 2400, Through: keys.Raw("town2", "02399")}); err != nil || !reflect.DeepEqual(dry, want) {
		t.Errorf("DryRun: got %+v, error %v; want %+v", dry, err, want)
	}
	s.Count()
	pages := 0
	report, err := table.Upgrade(ctx, people, wholeTable, &table.Pass{Progress: func(table.Progress) { pages++ }})
	if want := (table.Progress{Rows: 2400, Changed: 2400, Through: keys.Raw("town2", "02399")}); err != nil || !reflect.DeepEqual(report, want) || pages != 3 {
		t.Errorf("got %+v, error %v, %d calls of Progress; want %+v and 3", report, err, pages, want)
	}
	// Each page ends inside of a partition, so that 5 of the transactions are smaller.
	if n := s.Count(); n[requests.Query] != 3 || n[requests.Transaction] < 24 || n[requests.Transaction] > 29 || n.Total() > 32 {
		t.Errorf("got requests %v; want 3 queries and 24 to 29 transactions", n)
	}
	expectUpgraded(t, s, 2400)
	again, err := table.Upgrade(ctx, people, wholeTable, nil)
	if want := (table.Progress{Rows: 2400, Through: keys.Raw("town2", "02399")}); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("again: got %+v, error %v; want %+v", again, err, want)
	}
	if n := s.Count(); n.Total() != 3 {
		t.Errorf("again: got requests %v; want 3 queries", n)
	}
}

// TestUpgradeIndexed: an index, which was filled from the older rows, has the upgraded ones.
func TestUpgradeIndexed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		byLast := index.New("last", keys.Text(), func(p *citizen) (string, bool) { return p.Last, true }, nil)
		people, store, _ := newPeople(t, 60, byLast)
		noError(t, second(store.Fill(ctx, nil)))
		for _, when := range []string{"before", "after"} {
			report, err := store.Verify(ctx, nil)
			if err != nil || report.Faults > 0 {
				t.Errorf("%s: got %+v, error %v; want a sound report", when, report, err)
			}
			found, err := table.Collect(byLast.List(ctx, people, town.Of("town0"), "L3"))
			if err != nil || len(found) != 3 || found[0].Value.First != "F3" {
				t.Errorf("%s: got %v, error %v; want F3, F24 and F45", when, found, err)
			}
			if when == "before" {
				upgraded, err := table.Upgrade(ctx, people, wholeTable, nil)
				if err != nil || upgraded.Changed != 60 {
					t.Errorf("got %+v, error %v; want 60 upgraded", upgraded, err)
				}
			}
		}
	})
}

// TestUpgradeResumes: wherever a job ends, another one continues at its token, or begins again, and each row is stored once.
func TestUpgradeResumes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for at := 1; ; at++ {
		people, _, s := newPeople(t, 30)
		q := wholeTable
		q.PageSize = 7
		token := ""
		sent := 0
		s.SetFaults(func(storagetest.Request) (none storagetest.Fault) {
			if sent++; sent == at {
				return storagetest.Refuse(403, "AuthorizationFailure")
			}
			return none
		})
		first, err := table.Upgrade(ctx, people, q, &table.Pass{Progress: func(r table.Progress) { token = r.Token }})
		s.SetFaults(nil)
		if err == nil {
			expectUpgraded(t, s, 30)
			if at < 10 {
				t.Errorf("got no error of request %d; want one", at)
			}
			return
		}
		if first.Token != token {
			t.Errorf("request %d: got token %q, want %q as Progress has said", at, first.Token, token)
		}
		rest, err := table.Upgrade(ctx, people, q, &table.Pass{Token: token})
		if err != nil || first.Changed+rest.Changed != 30 {
			t.Errorf("request %d: got %+v, then %+v, error %v; want 30 upgraded", at, first, rest, err)
		}
		expectUpgraded(t, s, 30)
	}
}

// TestUpgradeBesideOldProgram: while the job runs, a program without versions replaces, merges, inserts and deletes rows.
func TestUpgradeBesideOldProgram(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	people, _, s := newPeople(t, 9)
	raw := s.Tables().NewClient("people")
	old := func(id int, mode aztables.UpdateMode, name string) {
		body := fmt.Appendf(nil, `{"PartitionKey":"town%d","RowKey":"%05d","Name":"%s"}`, id%3, id, name)
		noError(t, second(raw.UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{UpdateMode: mode})))
	}
	ran := false
	s.Serial = true
	s.BeforeRequest = func(r *http.Request) {
		if requests.KindOf(r) == requests.Transaction && !ran {
			ran = true // the rows were read, and are not written yet
			old(0, aztables.UpdateModeReplace, "F0 L0")
			newer := []byte(`{"PartitionKey":"town1","RowKey":"00001","First":"F1","Last":"L1","_v":1}`)
			noError(t, second(raw.UpsertEntity(ctx, newer, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})))
			old(3, aztables.UpdateModeMerge, "F3 L3")
			noError(t, second(raw.DeleteEntity(ctx, "town0", "00006", nil)))
		}
	}
	report, err := table.Upgrade(ctx, people, wholeTable, nil)
	if err != nil || report.Rows != 9 || report.Changed != 7 {
		t.Errorf("got %+v, error %v; want 7 of 9 upgraded, since one is deleted, and one stored in the new version", report, err)
	}
	expectUpgraded(t, s, 8)

	old(1, aztables.UpdateModeReplace, "F1 L1") // has lost its version
	old(2, aztables.UpdateModeMerge, "F2 L2")   // keeps it beside the old column
	old(9, aztables.UpdateModeReplace, "F9 L2")
	report, err = table.Upgrade(ctx, people, wholeTable, nil)
	if want := (table.Progress{Rows: 9, Changed: 2, Through: keys.Raw("town2", "00008")}); err != nil || !reflect.DeepEqual(report, want) {
		t.Errorf("again: got %+v, error %v; want %+v", report, err, want)
	}
	report, err = table.Upgrade(ctx, peopleMerged(t, s, hasName), wholeTable, nil)
	if want := (table.Progress{Rows: 9, Changed: 1, Counts: map[string]int{"merged": 1}, Through: keys.Raw("town2", "00008")}); err != nil || !reflect.DeepEqual(report, want) {
		t.Errorf("with Merged: got %+v, error %v; want %+v", report, err, want)
	}
	expectUpgraded(t, s, 9)
}

// TestUpgradeErrors: rows that cannot be upgraded end the job, unless Skip leaves them as they are; wrong options send nothing.
func TestUpgradeErrors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	people, store, s := newPeople(t, 3)
	noError(t, second(s.Tables().NewClient("people").UpsertEntity(ctx, []byte(`{"PartitionKey":"town0","RowKey":"00000","Name":"Cher"}`), nil)))
	s.Count()
	if report, err := table.Upgrade(ctx, people, wholeTable, nil); err == nil || !strings.Contains(err.Error(), "upgrade from version 0: the name has one word") || report.Changed != 0 {
		t.Errorf("got %+v, error %v; want that of the function", report, err)
	}
	var skipped []keys.Key
	report, err := table.Upgrade(ctx, people, wholeTable, &table.Pass{Skip: func(k keys.Key, err error) bool { skipped = append(skipped, k); return true }})
	if want := (table.Progress{Rows: 3, Changed: 2, Skipped: 1, Through: keys.Raw("town2", "00002")}); err != nil || !reflect.DeepEqual(report, want) || !slices.Equal(skipped, []keys.Key{keys.Raw("town0", "00000")}) {
		t.Errorf("got %+v, error %v, skipped %v; want %+v", report, err, skipped, want)
	}
	single := wholeTable
	single.PageSize = 1
	var through []keys.Key
	_, err = table.Upgrade(ctx, people, single, &table.Pass{Skip: func(keys.Key, error) bool { return true }, Progress: func(r table.Progress) { through = append(through, r.Through) }})
	if err != nil || len(through) < 3 || through[0] != keys.Raw("town0", "00000") {
		t.Errorf("a page of a skipped row: got %v, error %v; want its key first", through, err)
	}
	s.Count()
	_ = store
	plain := newStaff(t, s.Tables())
	withCursor := wholeTable
	withCursor.Cursor = table.NewCursor("")
	for what, err := range map[string]error{
		"no version":       second(table.Upgrade(ctx, plain, table.Query[employee]{TableScan: true}, nil)),
		"a concurrency":    second(table.Upgrade(ctx, people, wholeTable, &table.Pass{Concurrency: 1})),
		"a negative rate":  second(table.Upgrade(ctx, people, wholeTable, &table.Pass{Rate: -1})),
		"a limit":          second(table.Upgrade(ctx, people, table.Query[citizen]{TableScan: true, Limit: 1}, nil)),
		"a budget":         second(table.Upgrade(ctx, people, table.Query[citizen]{TableScan: true, Budget: table.Budget{Rows: 1}}, nil)),
		"skip":             second(table.Upgrade(ctx, people, table.Query[citizen]{TableScan: true, Skip: func(keys.Key, error) bool { return true }}, nil)),
		"a cursor":         second(table.Upgrade(ctx, people, withCursor, nil)),
		"no handle":        second(table.Upgrade[citizen](ctx, nil, wholeTable, nil)),
		"a wrong token":    second(table.Upgrade(ctx, people, wholeTable, &table.Pass{Token: "x"})),
		"no partition":     second(table.Upgrade(ctx, people, table.Query[citizen]{}, nil)),
		"a canceled start": second(table.Upgrade(canceledContext(), people, wholeTable, nil)),
	} {
		if err == nil {
			t.Errorf("%s: got no error; want one", what)
		}
	}
	if n := s.Count(); n.Total() != 0 {
		t.Errorf("wrong options: got requests %v; want none", n)
	}
	own := peopleMerged(t, s, func(*table.Row) (int, bool) { return 1, true })
	_, err = table.Upgrade(ctx, own, wholeTable, &table.Pass{Skip: func(_ keys.Key, err error) bool { return !errors.As(err, new(*table.ValueError)) }})
	var ve *table.ValueError
	if !errors.As(err, &ve) || ve.Field != "Schema.Merged" {
		t.Errorf("a merge of the schema's own version: got error %v; want a *ValueError of Schema.Merged", err)
	}
}

func canceledContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestUpgradeSkipsWrites: Skip also decides about rows that can be read and not written, here one whose name no key of an index can have.
func TestUpgradeSkipsWrites(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, _, s := newPeople(t, 3)
	noError(t, second(s.Tables().NewClient("people").UpsertEntity(ctx, fmt.Appendf(nil, `{"PartitionKey":"town0","RowKey":"00000","Name":"A %s"}`, strings.Repeat("x", 600)), nil)))
	base, err := bare.NewTable(s.Tables(), "people", table.Schema[citizen]{Partition: town, Row: citizenID, Version: 1, Upgrade: splitName}, nil)
	noError(t, err)
	people, err := baretest.Attach(base, index.New("last", keys.Text(), func(p *citizen) (string, bool) { return p.Last, true }, nil))
	noError(t, err)
	if report, err := table.Upgrade(ctx, people, wholeTable, nil); err == nil {
		t.Errorf("without Skip: got %+v; want an error", report)
	}
	report, err := table.Upgrade(ctx, people, wholeTable, &table.Pass{Skip: func(k keys.Key, err error) bool { return k == keys.Raw("town0", "00000") }})
	if err != nil || report.Rows != 3 || report.Skipped != 1 {
		t.Errorf("got %+v, error %v; want 3 rows, one of them skipped", report, err)
	}
}

// TestUpgradeInDoubt: Skip does not decide about a write whose outcome is unknown, which may be
// stored: the upgrade ends with the error.
func TestUpgradeInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, _, s := newPeople(t, 3)
		schema := table.Schema[citizen]{Partition: town, Row: citizenID, Version: 1, Upgrade: splitName}
		people, err := bare.NewTable(s.Tables(), "people", schema, &table.Options{Common: singleWait()})
		noError(t, err)
		s.SetFaults(storagetest.First( // the second attempt is refused, because the first one was applied
			storagetest.OfKind(requests.Get, storagetest.Refuse(503, "ServerBusy")),
			storagetest.When(func(q storagetest.Request) bool { return q.Kind != requests.Query }, storagetest.Once(storagetest.LostResponse()))))
		skipped := 0
		skip := func(keys.Key, error) bool {
			skipped++
			return true
		}
		report, err := table.Upgrade(t.Context(), people, wholeTable, &table.Pass{Skip: skip})
		if !errors.Is(err, table.ErrUnknownOutcome) || report.Skipped != 0 || skipped != 0 {
			t.Errorf("got %+v, %v, %d calls of Skip; want ErrUnknownOutcome, and no row skipped", report, err, skipped)
		}
	})
}
