package archive_test

import (
	"errors"
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

// TestInto: a mover of a declaration archives and restores, and the store creates its destination.
func TestInto(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := aztablekit.Open(storagetest.New(nil), "notes", nil)
	former := archive.Into[note]("former", archive.ToTable(store, "former", nil))
	notes := aztablekit.Table(store, "notes", topic, noteNo, former)
	if err := store.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := notes.Insert(ctx, &note{"A", 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(former.Archive(ctx, e), store.Drain(ctx)); err != nil {
		t.Fatal(err)
	}
	if _, archived, err := former.Find(ctx, e.Key); err != nil || !archived {
		t.Errorf("after Archive: got archived %v, %v; want true", archived, err)
	}
	if _, err := former.Restore(ctx, e.Key); err != nil {
		t.Errorf("Restore: got %v; want none", err)
	}
	if _, err := notes.Get(ctx, e.Key); err != nil {
		t.Errorf("after Restore: got %v; want the note", err)
	}
}

// TestMoverOfTwoStores: a second store does not take the mover away from the first.
func TestMoverOfTwoStores(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	open := func() *aztablekit.Store { return aztablekit.Open(storagetest.New(nil), "notes", nil) }
	first, second := open(), open()
	former := archive.Into[note]("former", archive.ToTable(first, "former", nil))
	notes := aztablekit.Table(first, "notes", topic, noteNo, former)
	aztablekit.Table(second, "notes", topic, noteNo, former)
	if err := second.Err(); err == nil || !strings.Contains(err.Error(), "is of table notes already") {
		t.Errorf("the second store: got %v; want that the mover has a table", err)
	}
	if err := first.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := notes.Insert(ctx, &note{"A", 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(former.Archive(ctx, e), first.Drain(ctx)); err != nil {
		t.Errorf("the first store: got %v; want none", err)
	}
}

// TestFaultyMovers: a mover that cannot be used says why, from each method.
func TestFaultyMovers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	k := keys.At(topic.Of("A"), noteNo.Of(1))
	for want, declare := range map[string]func(*aztablekit.Store) (m *archive.Mover[note], declared bool){
		"is of no table yet": func(s *aztablekit.Store) (*archive.Mover[note], bool) {
			return archive.Into[note]("former", archive.ToTable(s, "former", nil)), false
		},
		"to is nil": func(s *aztablekit.Store) (*archive.Mover[note], bool) {
			m := archive.Into[note]("former", nil)
			aztablekit.Table(s, "notes", topic, noteNo, m)
			return m, true
		},
		"to is also the table from": func(s *aztablekit.Store) (*archive.Mover[note], bool) {
			m := archive.Into[note]("former", archive.ToTable(s, "notes", nil))
			aztablekit.Table(s, "notes", topic, noteNo, m)
			return m, true
		},
		"definition other: to is nil": func(s *aztablekit.Store) (*archive.Mover[note], bool) {
			m := archive.Into[note]("former", archive.ToTable(s, "former", nil))
			aztablekit.Table(s, "notes", topic, noteNo, m, archive.Into[note]("other", nil))
			return m, true
		},
		"definitions[1] is nil": func(s *aztablekit.Store) (*archive.Mover[note], bool) {
			m := archive.Into[note]("former", archive.ToTable(s, "former", nil))
			aztablekit.Table(s, "notes", topic, noteNo, m, nil)
			return m, true
		},
		"has the name of another definition": func(s *aztablekit.Store) (*archive.Mover[note], bool) {
			m := archive.Into[note]("former", archive.ToTable(s, "former", nil))
			aztablekit.Table(s, "notes", topic, noteNo, m, archive.Into[note]("former", archive.ToTable(s, "other", nil)))
			return m, true
		},
		"table former belongs to log former": func(s *aztablekit.Store) (*archive.Mover[note], bool) {
			logtail.New[note](s, "former", nil)
			m := archive.Into[note]("former", archive.ToTable(s, "former", nil))
			aztablekit.Table(s, "notes", topic, noteNo, m)
			return m, true
		},
		"kind former in table former belongs to table others": func(s *aztablekit.Store) (*archive.Mover[note], bool) {
			aztablekit.Table(s, "others", topic, noteNo, archive.Into[note]("former", archive.ToTable(s, "former", nil)))
			m := archive.Into[note]("former", archive.ToTable(s, "Former", nil))
			aztablekit.Table(s, "notes", topic, noteNo, m)
			return m, true
		},
		"a zero Destination": func(s *aztablekit.Store) (*archive.Mover[note], bool) {
			m := archive.Into[note]("former", &blobarchive.Destination{})
			aztablekit.Table(s, "notes", topic, noteNo, m)
			return m, true
		},
		"table name": func(s *aztablekit.Store) (*archive.Mover[note], bool) {
			m := archive.Into[note]("former", archive.ToTable(s, "my_notes", nil))
			aztablekit.Table(s, "notes", topic, noteNo, m)
			return m, true
		},
	} {
		service := storagetest.New(nil)
		store := aztablekit.Open(service, "notes", nil)
		m, declared := declare(store)
		_, contained := m.Contains(ctx, k, "0123456789ABCDEF")
		_, _, found := m.Find(ctx, k)
		_, restored := m.Restore(ctx, k)
		_, listed := table.Collect(m.Archived(ctx, topic.Of("A")))
		all := []error{m.Archive(ctx, &table.Entity[note]{Key: k, ETag: "1"}), contained, found, restored, listed}
		if declared {
			all = append(all, store.Ensure(ctx))
		}
		for i, err := range all {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("method %d: got %v; want %q", i, err, want)
			}
		}
		if n := service.Count().Total(); n != 0 {
			t.Errorf("%s: got %d requests; want none", want, n)
		}
	}
}
