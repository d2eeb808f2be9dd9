package expire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// document is an entity with everything that an entity may have.
type document struct {
	Folder, ID string
	Ends       time.Time
	Words      int
	Text       string `table:",chunks,omitempty,part=1"`
	File       largeentity.Blob
}

// TestEverything: what follows from an entity goes with it, and counts it until then.
func TestEverything(t *testing.T) {
	t.Parallel()
	c := newClock(noon)
	s := storagetest.New(&storagetest.Options{Now: c.now})
	folder := keys.Partition(keys.Text(), func(d *document) *string { return &d.Folder })
	id := keys.Row(keys.Text().Named("id"), func(d *document) *string { return &d.ID })
	all := func(*document) (string, bool) { return "all", true }
	library := aztablekit.Open(s, "library", &aztablekit.Options{Daily: -1, Now: c.now})
	files := largeentity.In[document]("files", nil)
	count := index.NewSummary("count", keys.Text(), all, nil, index.Measure[document]{Name: "Words", Of: func(d *document) (int64, bool) { return int64(d.Words), true }})
	lists, copies := index.NewLists("lists", keys.Text(), all, nil), index.New("copies", keys.Text(), all, nil)
	global, unique := index.NewGlobal("global", keys.Text(), all, nil), index.NewUnique("unique", keys.Text(), func(d *document) (string, bool) { return d.ID, true }, nil)
	ends := expire.At(func(d *document) time.Time { return d.Ends }, nil)
	documents := aztablekit.Table(library, "documents", folder, id, files, count, lists, copies, global, unique, ends)
	ctx := t.Context()
	must(t, library.Ensure(ctx))
	key := keys.At(folder.Of("f"), id.Of("a"))
	blob, err := files.Upload(ctx, documents, key, bytes.NewReader(make([]byte, 1000)), "")
	must(t, err)
	_, err = documents.Insert(ctx, &document{Folder: "f", ID: "a", Words: 7, Ends: noon.Add(time.Minute), Text: strings.Repeat("word ", 10_000), File: blob})
	must(t, err)
	must(t, library.Drain(ctx))
	c.pass(time.Minute)
	total, err := count.Get(ctx, documents, folder.Of("f"), "all")
	if err != nil || total.Count != 1 {
		t.Errorf("got %+v, %v; want that the summary counts it until the sweep", total, err)
	}
	if n, err := documents.Count(ctx, table.Query[document]{Partition: folder.Of("f")}); n != 0 || err != nil {
		t.Errorf("got count %d, %v; want 0", n, err)
	}
	words := table.FieldOf(func(d *document) *int { return &d.Words })
	for name, read := range map[string]func() error{
		"a list": func() error {
			found, err := table.Collect(documents.List(ctx, table.Query[document]{Partition: folder.Of("f")}))
			if len(found) > 0 {
				t.Errorf("a list: got %v", found)
			}
			return errors.Join(err, table.ErrNotFound)
		},
		"GetFields": func() error { _, err := documents.GetFields(ctx, key, words); return err },
		"Get":       func() error { _, err := documents.Get(ctx, key); return err },
	} {
		if err := read(); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("%s: got %v; want ErrNotFound", name, err)
		}
	}
	c.pass(2 * time.Hour)
	_, err = ends.Sweep(ctx, documents, nil)
	must(t, err)
	must(t, library.Drain(ctx))
	for _, of := range s.TableNames() {
		for _, r := range s.Rows(of) {
			tombstone := of == "documentsglobal" || of == "librarywork" // which the work of a later day deletes
			if !tombstone && !slices.ContainsFunc([]string{"~c", "~i|", "~t|", "~g|", "~b|"}, func(p string) bool { return strings.HasPrefix(r.RowKey, p) }) {
				t.Errorf("got the row %s %s of %s; want that it is gone", r.PartitionKey, r.RowKey, of)
			}
		}
	}
	if blobs := s.StoredBlobs("files"); len(blobs) > 0 {
		t.Errorf("got blobs %v; want none", blobs)
	}
}

// TestArchive: what is over when its move is done is not archived, and what comes back when it is over is not there.
func TestArchive(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"before the move", "in the archive"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			ctx := t.Context()
			shop := aztablekit.Open(s.service, "other", &aztablekit.Options{Daily: -1, Now: s.clock.now})
			mover := archive.Into[session]("sessions/archive", archive.ToTable("archived", nil))
			ends := expire.At(s.end, nil)
			sessions := aztablekit.Table(shop, "moving", user, id, mover, ends)
			must(t, shop.Ensure(ctx))
			e, err := sessions.Insert(ctx, &session{User: "ann", ID: "a", Ends: noon.Add(time.Minute)})
			must(t, err)
			must(t, mover.Archive(ctx, sessions, e))
			if over == "before the move" {
				s.clock.pass(time.Minute)
				if _, err := sessions.Get(ctx, at("ann", "a")); !errors.Is(err, table.ErrNotFound) {
					t.Errorf("got %v; want ErrNotFound", err)
				}
				must(t, shop.Drain(ctx))
				if rows := s.service.Rows("archived"); slices.ContainsFunc(rows, func(r storagetest.Row) bool { return r.Get("Mail") != nil }) {
					t.Errorf("got %v in the archive; want nothing", rows)
				}
				return
			}
			must(t, shop.Drain(ctx))
			s.clock.pass(time.Minute)
			if _, err := mover.Restore(ctx, sessions, at("ann", "a")); err != nil && !errors.Is(err, table.ErrNotFound) {
				t.Errorf("got %v", err)
			}
			if _, err := sessions.Get(ctx, at("ann", "a")); !errors.Is(err, table.ErrNotFound) {
				t.Errorf("got %v; want ErrNotFound", err)
			}
		})
	}
}

// TestOverWhileMoved: a session that is over before one of the requests of its move is over under the new key, or under the old one, and nothing of it is left.
func TestOverWhileMoved(t *testing.T) {
	t.Parallel()
	for before := 1; before <= 6; before++ {
		t.Run(fmt.Sprint("before request ", before), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			ctx := t.Context()
			e := s.insert(t, "a", time.Minute)
			var n atomic.Int32
			acc, err := account.FromTransport(&testkit.Hooked{Service: s.service, BeforeRequest: func(*http.Request) {
				if n.Add(1) == int32(before) {
					s.clock.pass(time.Minute)
				}
			}}, nil)
			must(t, err)
			mover := &shop{clock: s.clock, end: s.end, service: s.service}
			mover.Store = aztablekit.Open(acc, "shop", &aztablekit.Options{Daily: -1, Now: s.clock.now})
			mover.ends = expire.At(s.end, nil)
			mover.sessions = aztablekit.Table(mover.Store, "sessions", user, id, extend.Definition[session](mover.ends))
			e.Value.User = "bob"
			if err := mover.sessions.Move(ctx, e); err != nil && !errors.Is(err, table.ErrNotFound) && !errors.Is(err, table.ErrChanged) {
				t.Errorf("Move: got %v; want none, ErrNotFound or ErrChanged", err)
			}
			if n.Load() < int32(before) {
				s.clock.pass(time.Minute) // after the move
			}
			for _, user := range []string{"ann", "bob"} {
				if _, err := s.sessions.Get(ctx, at(user, "a")); !errors.Is(err, table.ErrNotFound) {
					t.Errorf("session of %s: got %v; want ErrNotFound", user, err)
				}
			}
			must(t, s.Drain(ctx))
			report, err := verify.Check(ctx, s.sessions, nil)
			if err != nil || len(derived.Kinds(report)) > 0 {
				t.Errorf("got %v, %v; want no faults", report, err)
			}
			s.clock.pass(2 * time.Hour)
			_, err = s.ends.Sweep(ctx, s.sessions, nil)
			must(t, err)
			for _, r := range s.service.Rows("sessions") {
				if strings.HasPrefix(r.RowKey, "id_") || strings.HasPrefix(r.RowKey, "~x|") || r.Get("_tx") != nil {
					t.Errorf("got %v; want nothing of the session", r)
				}
			}
		})
	}
}

// TestForged: what other programs store in place of an end is an error of the row, or an end.
func TestForged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, end string
		wrong     bool
		there     bool
	}{
		{"a number", `"_end":17`, true, false},
		{"a text", `"_end":"soon"`, true, false},
		{"a time as text, over", `"_end":"2026-11-28T11:59:59Z"`, false, false},
		{"a time as text", `"_end":"2026-11-28T12:00:01Z"`, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			ctx := t.Context()
			s.insert(t, "a", time.Minute)
			_, err := s.service.Tables().NewClient("sessions").UpdateEntity(ctx, []byte(`{"PartitionKey":"ann","RowKey":"id_a",`+c.end+`}`), &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge})
			must(t, err)
			_, listed := ids(s.sessions.List(ctx, table.Query[session]{Partition: user.Of("ann")}))
			_, got := s.sessions.Get(ctx, at("ann", "a"))
			for name, err := range map[string]error{"Get": got, "List": listed} {
				var de *table.DecodeError
				if errors.As(err, &de) != c.wrong || c.wrong && de.Field != "_end" {
					t.Errorf("%s: got %v; want a DecodeError of _end: %v", name, err, c.wrong)
				}
			}
			if !c.wrong && errors.Is(got, table.ErrNotFound) == c.there {
				t.Errorf("got %v; want that it is there: %v", got, c.there)
			}
		})
	}
}

// proxied is a service behind a proxy that leaves out when it has answered, or that refuses writes, or deletions.
type proxied struct {
	*storagetest.Service
	undated, readOnly, noDelete bool
}

func (p *proxied) Do(r *http.Request) (*http.Response, error) {
	refused := p.readOnly && r.Method != http.MethodGet || p.noDelete && deletes(r)
	if refused {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "SharedKey nobody:AAAA")
	}
	resp, err := p.Service.Do(r)
	if err == nil && p.undated {
		resp.Header.Del("Date")
	}
	return resp, err
}

// deletes reports whether a request deletes a row.
func deletes(r *http.Request) bool {
	if r.Body == nil || r.Method != http.MethodPost {
		return r.Method == http.MethodDelete
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Contains(body, []byte("DELETE "))
}

// TestWithoutDate: without the service's clock, an entity with an end is an error, and one without is read.
func TestWithoutDate(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	ctx := t.Context()
	s.insert(t, "a", time.Minute)
	s.insert(t, "b", 0)
	p := &proxied{Service: s.service, undated: true}
	acc, err := account.FromTransport(p, nil)
	must(t, err)
	s.open(t, acc, nil)
	_, got := s.sessions.Get(ctx, at("ann", "a"))
	expectError(t, got, "Date")
	_, got = ids(s.sessions.List(ctx, table.Query[session]{Partition: user.Of("ann")}))
	expectError(t, got, "Date")
	if _, err := s.sessions.Get(ctx, at("ann", "b")); err != nil {
		t.Errorf("without an end: got %v", err)
	}
}

// TestMayNotDelete: a client that may only read says that a session is over, and the row stays.
func TestMayNotDelete(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	ctx := t.Context()
	s.insert(t, "a", time.Minute)
	reader := *s
	p := &proxied{Service: s.service}
	acc, err := account.FromTransport(p, nil)
	must(t, err)
	reader.open(t, acc, nil)
	p.readOnly = true
	s.clock.pass(time.Minute)
	if _, err := reader.sessions.Get(ctx, at("ann", "a")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got %v; want ErrNotFound", err)
	}
	if len(s.rows()) == 0 {
		t.Error("got no row; want that it has stayed")
	}
}

// TestDuringOutage: a read that cannot delete what is over, because the service is busy, says so and not that the session is gone.
func TestDuringOutage(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	s.insert(t, "a", time.Minute)
	s.clock.pass(time.Minute)
	s.service.SetFaults(func(r storagetest.Request) storagetest.Fault {
		if r.Method == http.MethodGet {
			return storagetest.Fault{}
		}
		return storagetest.Refuse(503, "ServerBusy")
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.sessions.Get(ctx, at("ann", "a")); err == nil || errors.Is(err, table.ErrNotFound) {
		t.Errorf("got %v; want the error of the outage", err)
	}
}

// TestInsertMayNotDelete: a client that may insert and not delete is refused at once: what is over is in its way.
func TestInsertMayNotDelete(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	ctx := t.Context()
	s.insert(t, "a", time.Minute)
	writer := *s
	p := &proxied{Service: s.service}
	acc, err := account.FromTransport(p, nil)
	must(t, err)
	writer.open(t, acc, nil)
	p.noDelete = true
	s.clock.pass(time.Minute)
	s.sent()
	if _, err := writer.sessions.Insert(ctx, &session{User: "ann", ID: "a"}); !errors.Is(err, table.ErrExists) {
		t.Errorf("Insert: got %v; want ErrExists", err)
	}
	var re *azcore.ResponseError
	if _, err := writer.sessions.Upsert(ctx, &session{User: "ann", ID: "a"}, table.ReplaceExisting); !errors.As(err, &re) || re.StatusCode != http.StatusForbidden {
		t.Errorf("Upsert: got %v; want the service's refusal", err)
	}
	if n := len(s.sent()); n > 6 {
		t.Errorf("got %d requests; want at most 6", n)
	}
}

// TestOtherType: a row of another type is an error of the row, whatever its end, and a view finds none.
func TestOtherType(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	ctx := t.Context()
	for _, row := range []string{`{"PartitionKey":"ann","RowKey":"other_1","_end":"2026-11-28T11:00:00Z","_end@odata.type":"Edm.DateTime"}`, `{"PartitionKey":"ann","RowKey":"id_z","_type":"another"}`} {
		_, err := s.service.Tables().NewClient("sessions").AddEntity(ctx, []byte(row), nil)
		must(t, err)
	}
	if _, err := s.sessions.Get(ctx, keys.Raw("ann", "other_1")); err == nil || errors.Is(err, table.ErrNotFound) {
		t.Errorf("got %v; want an error of the key", err)
	}
	mails, err := table.ViewOf[struct{ Mail string }](s.sessions)
	must(t, err)
	if _, err := mails.Get(ctx, at("ann", "nobody")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got %v; want ErrNotFound", err)
	}
	s.sent()
	if _, err := mails.Get(ctx, keys.Raw("ann", "other_1")); err == nil || errors.Is(err, table.ErrNotFound) || len(s.sent()) > 1 {
		t.Errorf("a view of a row with the key of another type: got %v; want an error of the key, and one request", err)
	}
	if _, err := mails.Get(ctx, at("ann", "z")); errors.Is(err, table.ErrContended) || len(s.sent()) > 1 {
		t.Errorf("a view of another type: got %v; want one request", err)
	}
}

// TestVerify: verification finds no fault in what is over and stored, and writes nothing.
func TestVerify(t *testing.T) {
	t.Parallel()
	copies := index.New("copies", keys.Text(), everyone, nil)
	global := index.NewGlobal("global", keys.Text(), everyone, nil)
	s := newShop(t, nil, copies, global)
	ctx := t.Context()
	s.insert(t, "a", time.Minute)
	b := s.insert(t, "b", time.Minute)
	ends := table.FieldOf(func(s *session) *time.Time { return &s.Ends })
	must(t, s.sessions.Merge(ctx, b, ends.Set(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)))) // a merge that takes the end away
	must(t, s.Drain(ctx))
	s.clock.pass(time.Minute)
	before := s.rows()
	s.sent()
	report, err := verify.Check(ctx, s.sessions, nil)
	if err != nil || len(derived.Kinds(report)) > 0 {
		t.Errorf("got %v, %v; want no faults", report, err)
	}
	for _, r := range s.sent() {
		if !strings.HasPrefix(r, "get") && !strings.HasPrefix(r, "query") {
			t.Errorf("got the request %s; want that nothing is written", r)
		}
	}
	if after := s.rows(); !slices.Equal(after, before) {
		t.Errorf("got rows %q; want %q", after, before)
	}
	if _, err := verify.Repair(ctx, s.sessions, nil); err != nil {
		t.Errorf("a repair: got %v", err)
	}
}
