package aztablekit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
	"github.com/aztablekit/aztablekit/txn"
)

// guest is an entity of a table with definitions of each kind.
type guest struct {
	House, Name string
	Photo       largeentity.Blob
	Ends        time.Time
}

// listed is what a view has of a guest.
type listed struct{ All, Name string }

var (
	house     = keys.Partition(keys.Text(), func(g *guest) *string { return &g.House })
	guestName = keys.Row(keys.Text().Named("guest"), func(g *guest) *string { return &g.Name })
)

// hotel is a store in which each kind of row of the library arises.
type hotel struct {
	t       *testing.T
	service *storagetest.Service
	store   *aztablekit.Store
	guests  *table.Table[guest]
	ends    *expire.Ends[guest]
	photos  *largeentity.Values[guest]
	mover   *archive.Mover[guest]
	plain   *table.Table[reminder]
	leases  *lease.Leases
	visits  *series.Series[int64]
	seen    map[string]bool // kinds of rows
}

func openHotel(t *testing.T) *hotel {
	h := &hotel{t: t, service: storagetest.New(nil), seen: map[string]bool{}}
	o := slowly()
	h.store = aztablekit.Open(h.service, "rows", &o)
	h.ends = expire.At(func(g *guest) time.Time { return g.Ends }, &expire.Options{ManyPartitions: true})
	h.photos = largeentity.In[guest]("photos", &largeentity.Options{Grace: 26 * time.Hour})
	h.mover = archive.Into[guest]("leave", archive.ToTable("former", nil))
	people := aztablekit.Table(h.store, "people", keys.Partition(keys.Text(), func(l *listed) *string { return &l.All }),
		keys.Row(keys.Text(), func(l *listed) *string { return &l.Name }))
	name := func(g *guest) (string, bool) { return g.Name, true }
	h.guests = aztablekit.Table(h.store, "guests", house, guestName, h.ends, h.photos, h.mover,
		index.New("reserved", keys.Text(), name, &index.Options{Reserved: true}),
		index.NewGlobal("name", keys.Text(), name, nil),
		index.NewUnique("one", keys.Text(), func(g *guest) (string, bool) { return g.House + g.Name, true }, nil),
		materialized.New("people", people, func(g *guest, _ keys.Key) (listed, bool) { return listed{"all", g.House + g.Name}, true }),
		transfer.Snapshots[guest]("stamps"))
	h.plain = aztablekit.Table(h.store, "plain", reminderGroup, reminderID)
	h.leases = lease.New(h.store, "leases", nil)
	h.visits = series.New[int64](h.store, "visits", series.Every(time.Hour, time.UTC), nil)
	testkit.NoError(t, h.store.Ensure(t.Context()))
	return h
}

// see notes which kinds of rows there are now.
func (h *hotel) see() {
	for _, kind := range libraryRows(h.service) {
		h.seen[kind] = true
	}
}

func (h *hotel) key(name string) keys.Key { return keys.At(house.Of("A"), guestName.Of(name)) }

// insert stores a guest with a photo, whose stay ends in an hour unless it is long.
func (h *hotel) insert(name string, long bool) *table.Entity[guest] {
	h.t.Helper()
	photo, err := h.photos.Upload(h.t.Context(), h.guests, h.key(name), strings.NewReader(strings.Repeat(name, 30_000)), "")
	testkit.NoError(h.t, err)
	ends := time.Now().Add(time.Hour)
	if long {
		ends = ends.AddDate(1, 0, 0)
	}
	e, err := h.guests.Insert(h.t.Context(), &guest{"A", name, photo, ends})
	testkit.NoError(h.t, err)
	h.see()
	return e
}

// cutBehind makes a call of a program that ends behind its first n requests.
func (h *hotel) cutBehind(n int, call func(context.Context)) {
	sent := 0
	h.service.SetFaults(storagetest.When(func(storagetest.Request) bool { sent++; return sent > n }, storagetest.LostRequest()))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	call(ctx)
	h.service.SetFaults(nil)
	h.see()
}

// fill stores rows of each kind in each way in which they arise, and deletes all guests but those whose stay is over.
func (h *hotel) fill(ctx context.Context) {
	t := h.t
	h.insert("over", false)
	h.insert("taken", false)
	_, err := h.ends.Take(ctx, h.guests, h.key("taken"))
	testkit.NoError(t, err)
	testkit.NoError(t, h.guests.Delete(ctx, h.insert("deleted", true)))

	// An entity goes to the archive and comes back, and another one with its key follows.
	archived := h.insert("archived", true)
	testkit.NoError(t, h.mover.Archive(ctx, h.guests, archived))
	testkit.NoError(t, h.store.Drain(ctx))
	_, err = h.mover.Restore(ctx, h.guests, archived.Key)
	testkit.NoError(t, err)
	h.see()
	testkit.NoError(t, h.store.Drain(ctx))
	h.see()
	testkit.NoError(t, h.guests.DeleteAny(ctx, archived.Key))
	testkit.NoError(t, h.guests.Delete(ctx, h.insert("archived", true)))
	testkit.NoError(t, h.store.Drain(ctx))
	h.see()

	// Programs that end behind each request of an insert and of a deletion with a unique value, and of a transaction over partitions.
	soon := time.Now().Add(time.Hour)
	for n := range 8 {
		testkit.NoError(t, h.store.Drain(ctx))
		e, err := h.guests.Insert(ctx, &guest{House: "B", Name: fmt.Sprint("deleted", n), Ends: soon})
		testkit.NoError(t, err)
		h.cutBehind(n, func(ctx context.Context) { _ = h.guests.Delete(ctx, e) })
		h.cutBehind(n, func(ctx context.Context) {
			_, _ = h.guests.Insert(ctx, &guest{House: "B", Name: fmt.Sprint("inserted", n), Ends: soon})
		})
		first, err1 := h.plain.Insert(ctx, &reminder{Group: fmt.Sprint("E", n), ID: 1})
		second, err2 := h.plain.Insert(ctx, &reminder{Group: fmt.Sprint("F", n), ID: 1})
		testkit.NoError(t, errors.Join(err1, err2))
		h.cutBehind(n, func(ctx context.Context) {
			_ = txn.Run(ctx, h.store, func(tx *txn.Tx) error {
				for _, k := range []keys.Key{first.Key, second.Key} {
					e, err := txn.Get(tx, h.plain, k)
					if err != nil {
						return err
					}
					e.Value.Text = "changed"
					tx.Do(h.plain.ReplaceOp(e))
				}
				return nil
			})
		})
	}

	// Commit records without a message, in one partition, and an abort record.
	_, err = h.plain.Exact().Insert(ctx, &reminder{Group: "A", ID: 1})
	testkit.NoError(t, err)
	testkit.NoError(t, txn.Run(ctx, h.store, func(tx *txn.Tx) error {
		tx.Do(h.plain.InsertOp(&reminder{Group: "B", ID: 1}))
		return nil
	}))
	h.service.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == requests.Transaction }, storagetest.LostRequest()))
	if _, err = h.plain.Exact().Insert(ctx, &reminder{Group: "C", ID: 1}); err == nil {
		t.Error("an insert whose requests are all lost succeeded")
	}
	h.service.SetFaults(nil)

	// Two holders of a lease, and what a program of an older release has left.
	for range 2 {
		held, err := h.leases.Acquire(ctx, "cleaning")
		testkit.NoError(t, err)
		_, err = held.In(ctx, h.plain, reminderGroup.Of("D"))
		testkit.NoError(t, err)
		testkit.NoError(t, held.Release(ctx))
	}
	_, err = h.service.Tables().NewClient("plain").AddEntity(ctx, []byte(`{"PartitionKey":"A","RowKey":"~g|`+time.Now().UTC().Format("2006010215")+`"}`), &aztables.AddEntityOptions{})
	testkit.NoError(t, err)
	for hour := range 3 {
		testkit.NoError(t, h.visits.Exact().Set(ctx, time.Now().Add(time.Duration(hour)*time.Hour), 1))
	}
	h.see()
}

// TestRowsGo stores each kind of row of the glossary, in each way in which it can arise, and runs the store for four days: then those are
// left of which the glossary says that they stay.
func TestRowsGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := openHotel(t)
		h.fill(context.Background())
		for _, kind := range glossaryKinds(t) {
			if !h.seen[kind] {
				t.Errorf("rows %s: none was stored", kind)
			}
		}
		stop := running(t, h.store)
		time.Sleep(4*24*time.Hour + 2*time.Hour) // on the second day, what is over is deleted, with effects of its own
		stop()
		left := slices.Compact(libraryRows(h.service))
		testkit.Expect(t, "kinds of rows of the library after four days", strings.Join(left, " "), "day lease ~c ~h|head ~h|token ~s")
		for _, name := range h.service.TableNames() {
			for _, r := range h.service.Rows(name) {
				if name == "guestsends" && r.PartitionKey > time.Now().Format("20060102") { // an hour in which a guest's stay was to end
					continue
				}
				if !slices.Contains([]string{"plain", "visits", "leases", "rowswork"}, name) && !strings.HasPrefix(r.RowKey, "~") {
					t.Errorf("table %s: got row %v; want none, since all stays are over", name, r)
				}
			}
		}
	})
}

// glossaryKinds returns the kinds of rows that the glossary lists, in the words of libraryRows.
func glossaryKinds(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("docs/glossary.md")
	testkit.NoError(t, err)
	_, rows, _ := strings.Cut(string(text), "\n## Rows\n")
	kinds := []string{"note", "lease", "~h|head", "~h|token", "~t|image"}
	for _, m := range regexp.MustCompile("(?m)^\\| `(~[a-z])").FindAllStringSubmatch(rows, -1) {
		if m[1] != "~h" {
			kinds = append(kinds, m[1])
		}
	}
	return kinds
}

// libraryRows returns the kind of each row of the library, sorted.
func libraryRows(s *storagetest.Service) (all []string) {
	for _, name := range s.TableNames() {
		for _, r := range s.Rows(name) {
			kind := ""
			switch {
			case strings.HasSuffix(name, "work") && r.RowKey == "day":
				kind = "day"
			case strings.HasSuffix(name, "work"):
				kind = "note"
			case name == "leases" && !strings.HasPrefix(r.RowKey, "~"):
				kind = "lease"
			case strings.HasPrefix(r.RowKey, "~h|") && strings.HasSuffix(r.RowKey, "|head"):
				kind = "~h|head"
			case strings.HasPrefix(r.RowKey, "~h|"):
				kind = "~h|token"
			case strings.HasPrefix(r.RowKey, "~t|") && strings.Count(r.RowKey, "|") == 2:
				kind = "~t|image"
			case strings.HasPrefix(r.RowKey, "~"):
				kind = r.RowKey[:min(2, len(r.RowKey))]
			default:
				continue
			}
			all = append(all, kind)
		}
	}
	slices.Sort(all)
	return all
}
