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

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// hostile is what a program that can write the table puts where the library reads it.
type hostile struct {
	rowKey  string // of the entity that an effect names
	life    string // that the effect names
	row     string // the incarnation that the row carries
	payload string // in the place of the effect's own
	forget  bool
}

// victim is the row of an archived entity, of an incarnation that a hostile text may name.
const (
	victimLife = "AAAAAAAAAAAAAAAA"
	ownLife    = "BBBBBBBBBBBBBBBB"
)

// strike writes the hostile row, a commit record with the hostile effect, and its message, and lets a worker work. It returns what both
// tables held before.
func strike(t *testing.T, x hostile) (s *storagetest.Service, was map[string]string, poison int) {
	t.Helper()
	ctx := context.Background()
	h, s := opened(t, nil)
	bystanders(h)
	// A victim that is archived, one that is archived under a key with ~ in it, and one that was restored.
	for id := 2; id <= 3; id++ {
		e, err := h.current.Insert(ctx, &clerk{"S", id, "Victim"})
		check(err)
		check(h.mover.Archive(ctx, e))
	}
	check(h.work(ctx))
	_, err := h.mover.Restore(ctx, at(3))
	check(err)
	check(h.work(ctx))
	put := func(table, rk string, columns map[string]any) bool {
		columns["PartitionKey"], columns["RowKey"] = "S", rk
		body, err := json.Marshal(columns)
		check(err)
		_, err = h.acc.Tables().NewClient(table).UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
		return err == nil
	}
	put("old", "c_000001~b~"+victimLife, map[string]any{"Last": "Victim", "_sys": "c_000001~b/row current%2Fold 2026-01-02T03:04:05Z"})
	put("old", "c_000001~"+victimLife, map[string]any{"Last": "Victim", "_sys": "c_000009/row current%2Fold 2026-01-02T03:04:05Z"})
	if strings.HasPrefix(x.rowKey, "c_") {
		put("current", x.rowKey, map[string]any{"Last": "Hostile", "_life": x.row})
	}
	payload := x.payload
	if payload == "" {
		b, err := json.Marshal(map[string]any{"life": x.life, "forget": x.forget})
		check(err)
		payload = string(b)
	}
	effects, err := json.Marshal([]map[string]any{{"kind": "current/old", "version": 1, "row": x.rowKey, "payload": []byte(payload)}})
	check(err)
	// The message of another entity's move, whose commit record is replaced.
	e, err := h.current.Insert(ctx, &clerk{"S", 8, "Own"})
	check(err)
	check(h.mover.Archive(ctx, e))
	if op := newestIntent(s); !put("current", op, map[string]any{"_v": 1, "State": "pending", "Effects": string(effects)}) {
		return s, snapshot(s), 0 // the service refuses to store it, so nothing is to be done
	}
	was = snapshot(s)
	opt := h.options()
	opt.Attempts = 2
	check(h.worker(opt).Drain(ctx))
	s.Advance(time.Hour)
	check(h.worker(opt).Drain(ctx))
	return s, was, len(s.Messages("poison"))
}

func newestIntent(s *storagetest.Service) (rk string) {
	for _, r := range s.Rows("current") {
		if strings.HasPrefix(r.RowKey, "~i|") {
			rk = max(rk, r.RowKey)
		}
	}
	return rk
}

// snapshot is all that both tables hold.
func snapshot(s *storagetest.Service) map[string]string {
	all := map[string]string{}
	for _, name := range []string{"current", "old"} {
		for _, r := range s.Rows(name) {
			all[name+"/"+r.PartitionKey+"/"+r.RowKey] = fmt.Sprint(r)
		}
	}
	return all
}

var incarnation = regexp.MustCompile(`^[0-9A-Z]{16}$`)

// harm is what was written besides the rows that a move of this entity and this incarnation writes.
func harm(s *storagetest.Service, was map[string]string, x hostile) (changed []string) {
	is := snapshot(s)
	names := slices.Sorted(maps.Keys(was))
	for k := range is {
		if _, there := was[k]; !there {
			names = append(names, k)
		}
	}
	for _, k := range names {
		own := incarnation.MatchString(x.life) && !strings.HasPrefix(x.rowKey, "~") &&
			(k == "old/S/"+x.rowKey+"~"+x.life || k == "old/S/~d|"+x.life || k == "current/S/"+x.rowKey && x.row == x.life)
		if was[k] == is[k] || own || strings.HasPrefix(k, "current/S/~i|") || strings.HasPrefix(k, "current/S/~g|") {
			continue
		}
		changed = append(changed, k)
	}
	return changed
}

// hostiles are texts in the place of incarnations and keys. The second of a pair is the incarnation that the row carries.
func hostiles() (all []hostile) {
	texts := []string{
		"../../../etc/cron.d", "", ".", "..", "/etc/passwd", "a/b", `..\x`, "b~" + victimLife, "x~" + victimLife, "~" + victimLife, "~d|" + victimLife, victimLife + "~", victimLife[1:],
		victimLife + "A", strings.ToLower(victimLife), "AAAAAAAAAAAAAAA\u00e9", "AAAAAAAAAAAAAAA'", "AAAAAAAAAAAAAAA\n", "ＡＡＡＡＡ", strings.Repeat("A", 600), "%2e%2e%2f", "?x=1", "#", " ", victimLife, ownLife,
	}
	for _, text := range texts {
		all = append(all, hostile{"c_000001", text, text, "", false}, hostile{"c_000001", text, text, "", true}, hostile{"c_000001", text, ownLife, "", false})
	}
	for _, rk := range []string{"", "~i|x", "~d|" + victimLife, "~l|x", "c_000002", "c_000003", "c_000002~" + victimLife, "../x", "a", "c_", strings.Repeat("c", 600)} {
		all = append(all, hostile{rk, ownLife, ownLife, "", false}, hostile{rk, ownLife, ownLife, "", true}, hostile{rk, victimLife, victimLife, "", false})
	}
	for _, payload := range []string{"null", "1", "[]", "{", `{"life":1}`, `{"life":null}`, `{"Life":"../x"}`, `{"life":"AAAAAAAAAAAAAAAA","life":"../../x"}`, "\xff", `{"life":{}}`} {
		all = append(all, hostile{"c_000001", "", ownLife, payload, false})
	}
	return all
}

// TestHostile: whatever stands where the library reads an incarnation or a key of an entity: a worker writes no row of another
// entity, and no other row of the destination than that of the entity and incarnation that it was asked for.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, x := range hostiles() {
		s, was, poison := strike(t, x)
		if changed := harm(s, was, x); len(changed) > 0 {
			t.Errorf("%+v: changed %q", x, changed)
		}
		if x.payload == "" && !incarnation.MatchString(x.life) && poison != 1 {
			t.Errorf("%+v: got %d poison messages; want 1", x, poison)
		}
	}
}

// FuzzHostile is TestHostile for any texts.
func FuzzHostile(f *testing.F) {
	for _, x := range hostiles() {
		f.Add(x.rowKey, x.life, x.row, x.payload, x.forget)
	}
	f.Fuzz(func(t *testing.T, rowKey, life, row, payload string, forget bool) {
		x := hostile{rowKey, life, row, payload, forget}
		s, was, _ := strike(t, x)
		if payload != "" {
			var p struct{ Incarnation string }
			_ = json.Unmarshal([]byte(payload), &p)
			x.life = p.Incarnation
		}
		if changed := harm(s, was, x); len(changed) > 0 {
			t.Errorf("%+v: changed %q", x, changed)
		}
	})
}

// TestForgedRow: an entity whose row carries a forged text in the place of an incarnation is archived under a new one, and found.
func TestForgedRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, forged := range []string{"../../../etc/cron.d", "b~" + victimLife, "x"} {
		h, s := opened(t, nil)
		bystanders(h)
		body := fmt.Sprintf(`{"PartitionKey":"S","RowKey":"c_000001","Last":"1","_life":%q}`, forged)
		_, err := h.acc.Tables().NewClient("current").AddEntity(ctx, []byte(body), nil)
		check(err)
		e, err := h.current.Get(ctx, at(1))
		check(err)
		check(h.mover.Archive(ctx, e))
		check(h.work(ctx))
		if e, archived, err := h.mover.Find(ctx, at(1)); err != nil || !archived || e.Value.Last != "1" {
			t.Errorf("%q: got %v, %v, %v; want it archived", forged, e, archived, err)
		}
		if err := untouched(s); err != nil {
			t.Error(err)
		}
	}
}

// astray is a destination that returns what is kept of another incarnation.
type astray struct{ archive.Destination }

func (d astray) Get(ctx context.Context, id archive.ID) (*archive.ArchivedRow, error) {
	k, err := d.Destination.Get(ctx, id)
	if k == nil || err != nil {
		k, err = &archive.ArchivedRow{ID: id, Kind: "current/old", Version: "1", Row: &table.Row{Key: id.Key}}, nil
	}
	k.Incarnation = victimLife
	return k, err
}

// TestDestinationAstray: what a destination returns must be of the incarnation that was asked for.
func TestDestinationAstray(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	m, err := archive.New("current/old", h.current, astray{h.old}, h.out)
	check(err)
	check(m.Archive(ctx, hire(h, s, 1)))
	w, err := eventual.NewWorker(h.acc.Queue("moves"), h.acc.Queue("poison"), []eventual.Handler{m.Handler()}, &eventual.WorkerOptions{Common: h.opt})
	check(err)
	check(w.Drain(ctx))
	if now, old := places(s); len(now) != 1 || len(old) != 0 || len(s.Messages("poison")) != 1 {
		t.Errorf("got %v, %v and %d poison messages; want the entity where it was, and 1", now, old, len(s.Messages("poison")))
	}
	check(h.mover.Archive(ctx, hire(h, s, 2)))
	check(h.work(ctx))
	if _, err := m.Restore(ctx, at(2)); !errors.Is(err, archive.ErrForeign) {
		t.Errorf("Restore: got %v; want ErrForeign", err)
	}
}

// TestForeignRows: rows in the destination that no move has put are refused, and hide nothing.
func TestForeignRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	bystanders(h)
	check(h.mover.Archive(ctx, hire(h, s, 1)))
	check(h.work(ctx))
	found, foreign := 0, 0
	for e, err := range h.mover.Archived(ctx, dept.Of("S")) {
		switch {
		case err == nil && e.Key == at(1):
			found++
		case errors.Is(err, archive.ErrForeign):
			foreign++
		default:
			t.Errorf("got %v, %v", e, err)
		}
	}
	if found != 1 || foreign != len(neighbours) {
		t.Errorf("got %d entities and %d foreign rows; want 1 and %d", found, foreign, len(neighbours))
	}
	// One that names an entity by _sys, of which its own key leaves no incarnation.
	_, err := h.acc.Tables().NewClient("old").AddEntity(ctx, []byte(`{"PartitionKey":"S","RowKey":"c_000001~b~`+victimLife+`","Last":"x","_sys":"c_000001/row current%2Fold 2126-01-02T03:04:05Z"}`), nil)
	check(err)
	if e, archived, err := h.mover.Find(ctx, at(1)); err != nil || !archived || e.Value.Last != "Name1" {
		t.Errorf("got %v, %v, %v; want the entity that was moved", e, archived, err)
	}
	for _, life := range []string{"../x", "", "b~" + victimLife} {
		var ve *table.ValueError
		id := archive.ID{Key: at(1), Incarnation: life}
		if _, err := h.old.Get(ctx, id); !errors.As(err, &ve) {
			t.Errorf("Get %q: got %v; want a *ValueError", life, err)
		}
		if err := h.old.Put(ctx, &archive.ArchivedRow{ID: id}, ""); !errors.As(err, &ve) {
			t.Errorf("Put %q: got %v; want a *ValueError", life, err)
		}
	}
}

// TestForgedNotes: notes in the destination and in the table that no move and no restore have left delete nothing when they are swept.
func TestForgedNotes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, s := opened(t, nil)
	bystanders(h)
	check(h.mover.Archive(ctx, hire(h, s, 1)))
	check(h.work(ctx))
	for i, gone := range []string{keysOfArchived(s), "a", "zz", "", "~d|x", "~" + victimLife} {
		note := fmt.Sprintf(`{"PartitionKey":"S","RowKey":"~d|%016d","Gone":%q}`, i, gone)
		_, err := h.acc.Tables().NewClient("old").AddEntity(ctx, []byte(note), nil)
		check(err)
	}
	for i, life := range []string{"../x", victimLife, "", "0123456789ABCDEF"} {
		note := fmt.Sprintf(`{"PartitionKey":"S","RowKey":"~l|%s","Restored":%q,"Kind":"current/old"}`, life, neighbours[i])
		_, err := h.acc.Tables().NewClient("current").AddEntity(ctx, []byte(note), nil)
		if err != nil && life != "../x" {
			check(err)
		}
	}
	before := len(s.Rows("old"))
	s.Advance(30 * time.Hour)
	check(h.mover.Handler().Sweep(ctx, dept.Of("S"), s.Now().Add(-25*time.Hour)))
	if after := len(s.Rows("old")); after != before {
		t.Errorf("got %d rows; want all %d", after, before)
	}
	if e, archived, err := h.mover.Find(ctx, at(1)); err != nil || !archived {
		t.Errorf("got %v, %v, %v; want it archived", e, archived, err)
	}
}

func keysOfArchived(s *storagetest.Service) string {
	for _, r := range s.Rows("old") {
		if r.Get("Last") != nil {
			return r.RowKey
		}
	}
	return ""
}
