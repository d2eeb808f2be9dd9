package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// hostile is what a program that can write to the table may write where the library reads it.
type hostile struct {
	rowKey         string // of the entity that the effect names
	incarnation    string // that the effect names
	rowIncarnation string // that the entity's row contains
	payload        string // in place of the effect's own
	forget         bool
}

// victimIncarnation is that of other entities' stored rows, ownIncarnation that of the hostile row.
const (
	victimIncarnation = "AAAAAAAAAAAAAAAA"
	ownIncarnation    = "BBBBBBBBBBBBBBBB"
)

// executeHostile writes the hostile row and a commit record with the hostile effect, and runs a worker. It returns what both tables
// contained before, and the count of poison messages.
func executeHostile(t testing.TB, x hostile) (s *storagetest.Service, before map[string]string, poison int) {
	t.Helper()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	must(t, insertNeighbours(ctx, fx))
	// An archived victim and a restored one; below, a stored row under a key with ~, and one whose _sys names another entity.
	for id := 2; id <= 3; id++ {
		e, err := fx.current.Insert(ctx, &clerk{"S", id, "Victim"})
		must(t, err)
		must(t, fx.mover.Archive(ctx, e))
	}
	must(t, fx.work(ctx))
	_, err := fx.mover.Restore(ctx, at(3))
	must(t, err)
	must(t, fx.work(ctx))
	put := func(table, rk string, columns map[string]any) bool {
		columns["PartitionKey"], columns["RowKey"] = "S", rk
		body, err := json.Marshal(columns)
		must(t, err)
		_, err = fx.account.Tables().NewClient(table).UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
		return err == nil
	}
	put("old", "c_000001~b~"+victimIncarnation, map[string]any{"Last": "Victim", "_sys": "c_000001~b/row current%2Fold 2026-01-02T03:04:05Z"})
	put("old", "c_000001~"+victimIncarnation, map[string]any{"Last": "Victim", "_sys": "c_000009/row current%2Fold 2026-01-02T03:04:05Z"})
	if strings.HasPrefix(x.rowKey, "c_") {
		put("current", x.rowKey, map[string]any{"Last": "Hostile", "_life": x.rowIncarnation})
	}
	payload := x.payload
	if payload == "" {
		b, err := json.Marshal(map[string]any{"life": x.incarnation, "forget": x.forget})
		must(t, err)
		payload = string(b)
	}
	effects, err := json.Marshal([]map[string]any{{"kind": "current/old", "version": 1, "row": x.rowKey, "payload": []byte(payload)}})
	must(t, err)
	// The hostile commit record replaces that of another entity's move.
	e, err := fx.current.Insert(ctx, &clerk{"S", 8, "Own"})
	must(t, err)
	must(t, fx.mover.Archive(ctx, e))
	if op := pendingRecord(s, "c_000008"); !put("current", op, map[string]any{"_v": 1, "State": "pending", "Effects": string(effects)}) {
		return s, allRows(s), 0 // the service refuses to store the commit record
	}
	before = allRows(s)
	opt := fx.options()
	opt.Attempts = 2
	must(t, testkit.WithoutFailures(fx.newWorker(t, opt).Drain(ctx)))
	s.Advance(time.Hour)
	must(t, testkit.WithoutFailures(fx.newWorker(t, opt).Drain(ctx)))
	return s, before, len(s.Messages("poison"))
}

// pendingRecord returns the RowKey of the pending commit record with an effect of a row.
func pendingRecord(s *storagetest.Service, row string) string {
	for _, r := range s.Rows("current") {
		effects, _ := r.Get("Effects").(string)
		if r.Get("State") == "pending" && strings.Contains(effects, fmt.Sprintf(`"row":%q`, row)) {
			return r.RowKey
		}
	}
	return ""
}

// allRows returns the rows of both tables.
func allRows(s *storagetest.Service) map[string]string {
	all := map[string]string{}
	for _, name := range []string{"current", "old"} {
		for _, r := range s.Rows(name) {
			all[name+"/"+r.PartitionKey+"/"+r.RowKey] = fmt.Sprint(r)
		}
	}
	return all
}

var validIncarnation = regexp.MustCompile(`^[0-9A-Z]{16}$`)

// changedRows returns the rows that have changed, besides those that a move of this entity and this incarnation writes.
func changedRows(s *storagetest.Service, before map[string]string, x hostile) (changed []string) {
	is := allRows(s)
	names := slices.Sorted(maps.Keys(before))
	for k := range is {
		if _, there := before[k]; !there {
			names = append(names, k)
		}
	}
	for _, k := range names {
		own := validIncarnation.MatchString(x.incarnation) && !strings.HasPrefix(x.rowKey, "~") &&
			(k == "old/S/"+x.rowKey+"~"+x.incarnation || k == "old/S/~d|"+x.incarnation || k == "current/S/"+x.rowKey && x.rowIncarnation == x.incarnation)
		if before[k] == is[k] || own || strings.HasPrefix(k, "current/S/~i|") || strings.HasPrefix(k, "current/S/~g|") {
			continue
		}
		changed = append(changed, k)
	}
	return changed
}

// hostiles returns hostile texts in place of incarnations, keys and payloads.
func hostiles() (all []hostile) {
	texts := []string{
		"../../../etc/cron.d", "", ".", "..", "/etc/passwd", "a/b", `..\x`, "b~" + victimIncarnation, "x~" + victimIncarnation, "~" + victimIncarnation, "~d|" + victimIncarnation, victimIncarnation + "~", victimIncarnation[1:],
		victimIncarnation + "A", strings.ToLower(victimIncarnation), "AAAAAAAAAAAAAAA\u00e9", "AAAAAAAAAAAAAAA'", "AAAAAAAAAAAAAAA\n", "ＡＡＡＡＡ", strings.Repeat("A", 600), "%2e%2e%2f", "?x=1", "#", " ", victimIncarnation, ownIncarnation,
	}
	for _, text := range texts {
		all = append(all, hostile{"c_000001", text, text, "", false}, hostile{"c_000001", text, text, "", true}, hostile{"c_000001", text, ownIncarnation, "", false})
	}
	for _, rk := range []string{"", "~i|x", "~d|" + victimIncarnation, "~l|x", "c_000002", "c_000003", "c_000002~" + victimIncarnation, "../x", "a", "c_", strings.Repeat("c", 600)} {
		all = append(all, hostile{rk, ownIncarnation, ownIncarnation, "", false}, hostile{rk, ownIncarnation, ownIncarnation, "", true}, hostile{rk, victimIncarnation, victimIncarnation, "", false})
	}
	for _, payload := range []string{"null", "1", "[]", "{", `{"life":1}`, `{"life":null}`, `{"Life":"../x"}`, `{"life":"AAAAAAAAAAAAAAAA","life":"../../x"}`, "\xff", `{"life":{}}`} {
		all = append(all, hostile{"c_000001", "", ownIncarnation, payload, false})
	}
	return all
}

// TestHostile: a worker that reads a hostile incarnation, key or payload writes only the stored row of the entity and the
// incarnation that the effect names, and the entity itself.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, x := range testkit.Some(hostiles()) {
		s, before, poison := executeHostile(t, x)
		if changed := changedRows(s, before, x); len(changed) > 0 {
			t.Errorf("%+v: got changed rows %q; want none", x, changed)
		}
		if x.payload == "" && !validIncarnation.MatchString(x.incarnation) && poison != 1 {
			t.Errorf("%+v: got %d poison messages; want 1", x, poison)
		}
	}
}

// FuzzHostile is TestHostile with random texts.
func FuzzHostile(f *testing.F) {
	for _, x := range testkit.Some(hostiles()) {
		f.Add(x.rowKey, x.incarnation, x.rowIncarnation, x.payload, x.forget)
	}
	f.Add("\xff", ownIncarnation, ownIncarnation, "", false)
	f.Fuzz(func(t *testing.T, rowKey, incarnation, rowIncarnation, payload string, forget bool) {
		// The commit record holds texts as JSON does.
		x := hostile{jsonText(t, rowKey), jsonText(t, incarnation), jsonText(t, rowIncarnation), payload, forget}
		s, before, _ := executeHostile(t, x)
		if payload != "" {
			var p struct {
				Incarnation string `json:"life"`
			}
			_ = json.Unmarshal([]byte(payload), &p)
			x.incarnation = p.Incarnation
		}
		if changed := changedRows(s, before, x); len(changed) > 0 {
			t.Errorf("%+v: got changed rows %q; want none", x, changed)
		}
	})
}

// jsonText returns a text as it is read from JSON: what is not UTF-8 becomes the replacement character.
func jsonText(t *testing.T, s string) (read string) {
	b, err := json.Marshal(s)
	must(t, err)
	must(t, json.Unmarshal(b, &read))
	return read
}

// insertBySDK inserts a row as a program does that does not use this library.
func insertBySDK(t testing.TB, fx *fixture, table, body string) {
	t.Helper()
	_, err := fx.account.Tables().NewClient(table).AddEntity(context.Background(), []byte(body), nil)
	must(t, err)
}

// TestForgedRow: an entity whose row contains a forged incarnation is archived under a new one.
func TestForgedRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, forged := range []string{"../../../etc/cron.d", "b~" + victimIncarnation, "x"} {
		t.Run(forged, func(t *testing.T) {
			t.Parallel()
			fx, s := newFixture(t, nil)
			must(t, insertNeighbours(ctx, fx))
			insertBySDK(t, fx, "current", fmt.Sprintf(`{"PartitionKey":"S","RowKey":"c_000001","Last":"1","_life":%q}`, forged))
			e, err := fx.current.Get(ctx, at(1))
			must(t, err)
			must(t, fx.mover.Archive(ctx, e))
			must(t, fx.work(ctx))
			wantArchived(t, fx.mover, "1")
			must(t, checkNeighbours(s))
		})
	}
}

// wrongIncarnation is a destination that returns rows of another incarnation than it is asked for.
type wrongIncarnation struct{ archive.Destination }

func (d wrongIncarnation) Get(ctx context.Context, id archive.ID) (*archive.ArchivedRow, error) {
	r, err := d.Destination.Get(ctx, id)
	if r == nil || err != nil {
		r, err = &archive.ArchivedRow{ID: id, Kind: "current/old", Version: "1", Row: &table.Row{Key: id.Key}}, nil
	}
	r.Incarnation = victimIncarnation
	return r, err
}

// TestWrongIncarnation: moves and restores refuse a row of another incarnation than they asked for.
func TestWrongIncarnation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	m, err := workertest.NewMover("current/old", fx.current, wrongIncarnation{fx.destination}, fx.outbox)
	must(t, err)
	must(t, m.Archive(ctx, insertClerk(t, fx, s, 1)))
	testkit.Failed(t, fx.workerOf(t, eventual.WorkerOptions{Common: fx.common}, m.Handler).Drain(ctx))
	wantClerks(t, s, []string{"c_000001=Name1"}, nil)
	testkit.Expect(t, "count of poison messages", len(s.Messages("poison")), 1)
	must(t, fx.mover.Archive(ctx, insertClerk(t, fx, s, 2)))
	must(t, fx.work(ctx))
	if _, err := m.Restore(ctx, at(2)); !errors.Is(err, table.ErrForeignRow) {
		t.Errorf("Restore: got error %v; want table.ErrForeignRow", err)
	}
}

// TestForeignRows: rows in the destination that no move has stored are refused, and do not hide other rows.
func TestForeignRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	must(t, insertNeighbours(ctx, fx))
	must(t, fx.mover.Archive(ctx, insertClerk(t, fx, s, 1)))
	must(t, fx.work(ctx))
	found, foreign := 0, 0
	for e, err := range fx.mover.Archived(ctx, dept.PartitionKey("S")) {
		switch {
		case err == nil && e.Key == at(1):
			found++
		case errors.Is(err, table.ErrForeignRow):
			foreign++
		default:
			t.Errorf("Archived: got %v, %v; want clerk 1 or table.ErrForeignRow", e, err)
		}
	}
	if found != 1 || foreign != len(neighbours) {
		t.Errorf("Archived: got %d entities and %d foreign rows; want 1 and %d", found, foreign, len(neighbours))
	}
	// The row's _sys names an entity, with whose RowKey the row's own leaves no incarnation.
	insertBySDK(t, fx, "old", `{"PartitionKey":"S","RowKey":"c_000001~b~`+victimIncarnation+`","Last":"x","_sys":"c_000001/row current%2Fold 2126-01-02T03:04:05Z"}`)
	wantArchived(t, fx.mover, "Name1")
}

// TestWrongID: a table destination refuses an ID with an error.
func TestWrongID(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, _ := newFixture(t, nil)
	for _, incarnation := range []string{"../x", "", "b~" + victimIncarnation} {
		id := archive.ID{Key: at(1), Incarnation: incarnation}
		_, getErr := fx.destination.Get(ctx, id)
		putErr := fx.destination.Put(ctx, &archive.ArchivedRow{ID: id}, "")
		for method, err := range map[string]error{"Get": getErr, "Put": putErr} {
			var ve *table.ValueError
			if !errors.As(err, &ve) || ve.Field != "ID.Incarnation" {
				t.Errorf("%s of incarnation %q: got error %v; want a *ValueError of ID.Incarnation", method, incarnation, err)
			}
		}
	}
}

// TestForgedRecords: a sweep deletes no row that a forged tombstone record or a forged restore record names.
func TestForgedRecords(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	must(t, insertNeighbours(ctx, fx))
	must(t, fx.mover.Archive(ctx, insertClerk(t, fx, s, 1)))
	must(t, fx.work(ctx))
	stored := ""
	for _, r := range s.Rows("old") {
		if r.Get("Last") != nil {
			stored = r.RowKey
		}
	}
	for i, rowKey := range []string{stored, "a", "zz", "", "~d|x", "~" + victimIncarnation} {
		insertBySDK(t, fx, "old", fmt.Sprintf(`{"PartitionKey":"S","RowKey":"~d|%016d","Gone":%q}`, i, rowKey))
	}
	for i, incarnation := range []string{"..x", victimIncarnation, "", "0123456789ABCDEF"} {
		insertBySDK(t, fx, "current", fmt.Sprintf(`{"PartitionKey":"S","RowKey":"~l|%s","Restored":%q,"Kind":"current/old"}`, incarnation, neighbours[i]))
	}
	before := len(s.Rows("old"))
	s.Advance(30 * time.Hour)
	sweepLibraryRows(t, fx.mover.Handler, s)
	testkit.Expect(t, "count of rows in table old", len(s.Rows("old")), before)
	wantArchived(t, fx.mover, "Name1")
}
