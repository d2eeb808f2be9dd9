package index_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestPointersLeft: a pointer that a crashed program has left is not followed. A look-up deletes it
// when it is a day old, and its entity does not name it: not before, not if it was stored again,
// and not with a clock that is ahead. Repair deletes it, too.
func TestPointersLeft(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, way := range []string{"look-up", "repair"} {
		post := newPost()
		s := newElsewhereScene(t, elsewhere{}, post)
		insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
		s.SetFaults(func(r storagetest.Request) storagetest.Fault {
			if r.Table == "staffpost" && r.Kind == "insert-or-replace" {
				return storagetest.Fault{}
			}
			return storagetest.Refuse(403, "AuthorizationFailure")
		})
		_, err := s.staff.Insert(ctx, &worker{"S", 2, "Jones", "b", 44, nil})
		if err == nil {
			t.Error("got no error of an insert that is refused")
		}
		s.SetFaults(nil)
		look := func(want int) {
			t.Helper()
			if way == "repair" {
				testkit.Expect(t, "dangling pointers", s.verifyAll(t, true).Counts[verify.Dangling], 2-want)
			} else {
				testkit.Expect(t, "workers with the address", len(ids(t, post.List(ctx, s.staff, "b"))), 0)
			}
			testkit.Expect(t, way+": pointers", len(s.Rows("staffpost")), want)
		}
		look(2)
		s.Advance(24 * time.Hour)
		look(2)
		s.Advance(2 * time.Hour)
		look(1)
		testkit.NoError(t, pointersRight(s.Service))
	}
}

// leavePointer leaves a pointer b of worker 1, whose address is a, as a program does that crashes.
func leavePointer(t *testing.T, s *elsewhereScene) {
	t.Helper()
	s.SetFaults(func(r storagetest.Request) storagetest.Fault {
		if r.Table == "staffpost" && r.Kind == "insert-or-replace" || r.Kind == requests.Get {
			return storagetest.Fault{}
		}
		return storagetest.Refuse(403, "AuthorizationFailure")
	})
	if err := s.staff.MergeAny(t.Context(), at(1), email.Set("b")); err == nil {
		t.Error("got no error of a write that is refused")
	}
	s.SetFaults(nil)
	testkit.Expect(t, "pointers", len(s.Rows("staffpost")), 2)
}

// TestPointersTwice: a worker with an address is found once, also if a crashed program has left
// another pointer with the address.
func TestPointersTwice(t *testing.T) {
	t.Parallel()
	post := newPost()
	s := newElsewhereScene(t, elsewhere{}, post)
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
	leavePointer(t, s)
	testkit.NoError(t, s.staff.MergeAny(t.Context(), at(1), email.Set("b")))
	testkit.Expect(t, "pointers", len(s.Rows("staffpost")), 2)
	testkit.Expect(t, "list", fmt.Sprint(ids(t, post.List(t.Context(), s.staff, "b"))), "[1]")
	of, err := table.Collect(post.Keys(t.Context(), s.staff, "b", table.Query[worker]{}))
	testkit.NoError(t, err)
	testkit.Expect(t, "keys", fmt.Sprint(of), "[('S','w_000001')]")
}

// TestPointersNotDropped: a look-up with a clock that is ahead deletes nothing, nor does one before
// whose delete the pointer is stored again.
func TestPointersNotDropped(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	post := newPost()
	s := newElsewhereScene(t, elsewhere{}, post)
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "a", 44, nil})
	leavePointer(t, s)
	look := func(ahead time.Duration, before func(*http.Request)) {
		t.Helper()
		staff := hookedPost(t, s, post, ahead, before)
		testkit.Expect(t, "list", len(ids(t, post.List(ctx, staff, "b"))), 0)
		testkit.Expect(t, "pointers", len(s.Rows("staffpost")), 2)
	}
	look(48*time.Hour, nil)
	s.Advance(26 * time.Hour)
	restored := false
	look(0, func(r *http.Request) {
		if r.Method == http.MethodDelete && !restored {
			restored = true
			rows, err := bare.NewTable(s.Tables(), "staffpost", table.Schema[table.Row]{}, quick())
			testkit.NoError(t, err)
			for _, p := range s.Rows("staffpost") {
				if strings.HasPrefix(p.RowKey, "post_b") {
					k := keys.Raw(p.PartitionKey, p.RowKey)
					_, err = baretest.UpsertAt(ctx, rows, k, (*table.Row)(stored.New(keys.Raw("S", "w_000001"), nil).Copy(k, "")), table.ReplaceExisting)
					testkit.NoError(t, err)
				}
			}
		}
	})
	testkit.Expect(t, "stored again", restored, true)
}

// TestPointersNamedMeanwhile: a look-up does not delete an old pointer that the entity names,
// although it did not when the look-up has read it first.
func TestPointersNamedMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	post := newPost()
	s := newElsewhereScene(t, elsewhere{}, post)
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "b", 44, nil})
	s.Advance(26 * time.Hour)
	var named []byte
	for _, r := range s.Rows("staff") {
		if b, is := r.Get("_ix").([]byte); is {
			named = b
		}
	}
	names := func(state []byte) error {
		body, err := json.Marshal(map[string]any{"PartitionKey": "S", "RowKey": "w_000001", "_ix@odata.type": "Edm.Binary", "_ix": state})
		testkit.NoError(t, err)
		_, err = s.Tables().NewClient("staff").UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge})
		return err
	}
	testkit.NoError(t, names([]byte{}))
	restored := false
	staff := hookedPost(t, s, post, 0, func(r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "staffpost(Partition") && !restored {
			restored = true
			checkInHook(t, names(named))
		}
	})
	testkit.Expect(t, "found at first", len(ids(t, post.List(ctx, staff, "b"))), 0)
	testkit.Expect(t, "the look-up has looked at the age", restored, true)
	testkit.Expect(t, "found then", len(ids(t, post.List(ctx, staff, "b"))), 1)
}

// TestPointersPartlyGone: of the old pointers in one partition, one that is gone keeps the others
// from nothing.
func TestPointersPartlyGone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tags := index.NewGlobalMulti("post", keys.Ordered(), 3, func(w *worker) []string { return w.Tags }, nil).Only().In(func(*worker) keys.PartitionKey { return keys.RawPartition("tags") })
	s := newElsewhereScene(t, elsewhere{}, tags)
	insertAll(t, s.staff, s.Service, worker{"S", 1, "Jones", "", 44, []string{"x", "y", "z"}})
	testkit.Expect(t, "pointers", len(s.Rows("staffpost")), 3)
	rows, err := bare.NewTable(s.Tables(), "staffpost", table.Schema[table.Row]{}, quick())
	testkit.NoError(t, err)
	testkit.NoError(t, door.Rows[table.Table[table.Row]](door.Table(rows), false).DeleteAny(ctx, keys.Raw("tags", s.Rows("staffpost")[1].RowKey)))
	testkit.NoError(t, s.staff.DeleteAny(ctx, at(1)))
	testkit.Expect(t, "pointers left", len(s.Rows("staffpost")), 0)
}

// TestPointersHidden: who sees only a range of the entities does not take one beyond it for gone,
// and deletes no pointer.
func TestPointersHidden(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newElsewhereScene(t, elsewhere{}, newPost())
	insertAll(t, s.staff, s.Service, worker{"T", 1, "Jones", "a", 44, nil})
	s.Advance(26 * time.Hour)
	rows, err := bare.NewTable(s.Tables(), "staffpost", table.Schema[table.Row]{}, quick())
	testkit.NoError(t, err)
	p := s.Rows("staffpost")[0]
	holder := grantedOf(t, s.Service, account.Grant{Partitions: sales.Point()})
	err = door.Table(rows).DropOld(ctx, keys.Raw(p.PartitionKey, p.RowKey), door.Table(holder), workerIn("T", 1), func(*stored.Row) bool { return false })
	if err == nil {
		t.Error("got no error; want one that says that the signature does not show the entity")
	}
	testkit.NoError(t, pointersRight(s.Service))
}
