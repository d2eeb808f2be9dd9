package archive_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type note struct {
	Topic string
	No    int
}

var (
	topic  = keys.Partition(keys.Text(), func(n *note) *string { return &n.Topic })
	noteNo = keys.Row(keys.Digits[int](4), func(n *note) *int { return &n.No })
)

// formerNotes is a package's variable, as programs have one.
var formerNotes = archive.Into[note]("former", archive.ToTable("former", nil))

// TestMoverInTwoStores: a mover that is a package's variable archives and restores in two stores, each of which creates a destination of
// its own. A handle without the mover is refused.
func TestMoverInTwoStores(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for i := range 2 {
		service := storagetest.New(nil)
		store := aztablekit.Open(service, "notes", &aztablekit.Options{Prefix: fmt.Sprint("test", i)})
		notes := aztablekit.Table(store, "notes", topic, noteNo, formerNotes)
		without := aztablekit.Table(store, "others", topic, noteNo)
		must(t, store.Ensure(ctx))
		e, err := notes.Insert(ctx, &note{"A", i})
		must(t, err)
		var de *table.DefinitionError
		if err := formerNotes.Archive(ctx, without, e); !errors.As(err, &de) || de.Definition != "former" {
			t.Errorf("Archive by a handle without the mover: got %v; want a *table.DefinitionError of former", err)
		}
		must(t, errors.Join(formerNotes.Archive(ctx, notes, e), store.Drain(ctx)))
		if n := len(service.Rows(fmt.Sprintf("test%dformer", i))); n != 1 {
			t.Errorf("got %d rows in the destination; want 1", n)
		}
		if _, archived, err := formerNotes.Find(ctx, notes, e.Key); err != nil || !archived {
			t.Errorf("after Archive: got archived %v, %v; want true", archived, err)
		}
		if _, err := formerNotes.Restore(ctx, notes, e.Key); err != nil {
			t.Errorf("Restore: got %v; want none", err)
		}
		if _, err := notes.Get(ctx, e.Key); err != nil {
			t.Errorf("after Restore: got %v; want the note", err)
		}
	}
}

// TestOtherAccount: the destination of a mover is in another account.
func TestOtherAccount(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for what, to := range map[string]func(string, *archive.Options) archive.Destination{"table": archive.ToTable, "blobs": blobarchive.New} {
		near, far := storagetest.New(nil), storagetest.New(nil)
		store := aztablekit.Open(near, "notes", nil)
		former := archive.Into[note]("former", to("former", &archive.Options{Account: far}))
		notes := aztablekit.Table(store, "notes", topic, noteNo, former)
		must(t, store.Ensure(ctx))
		e, err := notes.Insert(ctx, &note{"A", 1})
		must(t, err)
		must(t, errors.Join(former.Archive(ctx, notes, e), store.Drain(ctx)))
		if n := len(far.Rows("former")) + len(far.StoredBlobs("former")); n != 1 {
			t.Errorf("%s: got %d rows in the other account; want 1", what, n)
		}
		if _, archived, err := former.Find(ctx, notes, e.Key); err != nil || !archived {
			t.Errorf("%s: Find: got archived %v, %v; want true", what, archived, err)
		}
	}
}

// TestFaultyMovers: a mover that cannot be used makes each of its methods say why, and the store.
func TestFaultyMovers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	k := keys.At(topic.Of("A"), noteNo.Of(1))
	into := func(kind, name string) *archive.Mover[note] {
		return archive.Into[note](kind, archive.ToTable(name, nil))
	}
	type definitions = []aztablekit.Definition[note]
	for want, declare := range map[string]func(*aztablekit.Store) definitions{
		"to is nil":                 func(*aztablekit.Store) definitions { return definitions{archive.Into[note]("former", nil)} },
		"kind is empty":             func(*aztablekit.Store) definitions { return definitions{into("", "former")} },
		"to is also the table from": func(*aztablekit.Store) definitions { return definitions{into("former", "notes")} },
		"definition other: to is nil": func(*aztablekit.Store) definitions {
			return definitions{into("former", "former"), archive.Into[note]("other", nil)}
		},
		"definitions[1] is nil": func(*aztablekit.Store) definitions { return definitions{into("former", "former"), nil} },
		"has the name of another definition": func(*aztablekit.Store) definitions {
			return definitions{into("former", "former"), into("former", "other")}
		},
		"table name": func(*aztablekit.Store) definitions { return definitions{into("former", "my_notes")} },
		"container has the name \"former notes\"": func(*aztablekit.Store) definitions {
			return definitions{archive.Into[note]("former", blobarchive.New("former notes", nil))}
		},
		"table former belongs to log former": func(s *aztablekit.Store) definitions {
			logtail.New[note](s, "former", nil)
			return definitions{into("former", "former")}
		},
		"kind former in table former belongs to table others": func(s *aztablekit.Store) definitions {
			aztablekit.Table(s, "others", topic, noteNo, aztablekit.Definition[note](into("former", "former")))
			return definitions{into("former", "Former")}
		},
	} {
		service := storagetest.New(nil)
		store := aztablekit.Open(service, "notes", nil)
		all := declare(store)
		m := all[0].(*archive.Mover[note])
		notes := aztablekit.Table(store, "notes", topic, noteNo, all...)
		_, _, found := m.Find(ctx, notes, k)
		_, restored := m.Restore(ctx, notes, k)
		_, listed := table.Collect(m.Archived(ctx, notes, topic.Of("A")))
		for i, err := range []error{m.Archive(ctx, notes, &table.Entity[note]{Key: k, ETag: "1"}), found, restored, listed, store.Ensure(ctx)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("method %d: got %v; want %q", i, err, want)
			}
		}
		if n := service.Count().Total(); n != 0 {
			t.Errorf("%s: got %d requests; want none", want, n)
		}
	}
}
