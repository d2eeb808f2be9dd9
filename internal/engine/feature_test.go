package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// draft is an entity of one row, and report one that has a part.
type draft struct {
	Book string
	ID   int
	Text string
}

type report struct {
	Book    string
	ID      int
	Text    string
	Details string `table:",part=1"`
}

// TestFeature: a feature in one file of 40 lines counts the versions of entities, and hides one
// that has too many from each way to read it. Its row goes with each transaction.
func TestFeature(t *testing.T) {
	t.Parallel()
	t.Run("one row", func(t *testing.T) {
		t.Parallel()
		testFeature(t, draft{Book: "a"}, featureFields[draft]{
			book: func(d *draft) *string { return &d.Book }, id: func(d *draft) *int { return &d.ID }, text: func(d *draft) *string { return &d.Text }})
	})
	t.Run("parts", func(t *testing.T) {
		t.Parallel()
		testFeature(t, report{Book: "a", Details: "long"}, featureFields[report]{
			book: func(r *report) *string { return &r.Book }, id: func(r *report) *int { return &r.ID }, text: func(r *report) *string { return &r.Text }})
	})
}

type featureFields[T any] struct {
	book, text func(*T) *string
	id         func(*T) *int
}

func testFeature[T any](t *testing.T, v T, of featureFields[T]) {
	ctx, service := t.Context(), storagetest.New(nil)
	schema := table.Schema[T]{Partition: keys.Partition(keys.Text(), of.book), Row: keys.Row(keys.Digits[int](6), of.id)}
	all, err := bare.NewTable(service.Tables(), "drafts", schema, nil)
	testkit.NoError(t, err)
	testkit.NoError(t, door.Table(all).Ensure(ctx))
	all = door.InMode(all, func(m *engine.Mode) { m.Chain = append(m.Chain, engine.Versions{Most: 3}) })
	insert := func(id int, text string) *table.Entity[T] {
		*of.id(&v), *of.text(&v) = id, text
		e, err := all.Insert(ctx, &v)
		testkit.NoError(t, err)
		return e
	}
	read, counted := featureReads(all, of), expectVersions(service)

	e := insert(1, "first")
	insert(2, "other")
	counted(t, 1)
	*of.text(&e.Value) = "second"
	testkit.NoError(t, all.Replace(ctx, e))
	testkit.NoError(t, all.Merge(ctx, e, table.FieldOf(of.text).Set("third")))
	counted(t, 3)
	read(t, "third", "other")

	testkit.NoError(t, all.Replace(ctx, e))
	counted(t, 4)
	read(t, "other")
}

// expectVersions returns a function that checks the count of the entity 1, and that the row of the
// partition was stored again.
func expectVersions(s *storagetest.Service) func(t *testing.T, want int) {
	last := ""
	return func(t *testing.T, want int) {
		t.Helper()
		for _, r := range s.Rows("drafts") {
			text := fmt.Sprintf("Versions: %d", want)
			if r.RowKey == "000001" && !strings.Contains(r.String(), text) {
				t.Errorf("got %v; want %s", r, text)
			}
			if r.RowKey != "~versions" {
				continue
			}
			if r.ETag == last {
				t.Errorf("got the row of the partition with the ETag %s again", last)
			}
			last = r.ETag
		}
		if last == "" {
			t.Error("got no row of the partition")
		}
	}
}

// featureReads returns a function that expects the texts of the entities in each way to read them;
// 1 is not there if there is one text.
func featureReads[T any](all *table.Table[T], of featureFields[T]) func(*testing.T, ...string) {
	key := keys.Raw("a", "000001")
	errSeen := errors.New("seen")
	ways := map[string]func(context.Context) (*table.Entity[T], error){
		"Get": func(ctx context.Context) (*table.Entity[T], error) { return all.Get(ctx, key) },
		"GetFields": func(ctx context.Context) (*table.Entity[T], error) {
			return all.GetFields(ctx, key, table.FieldOf(of.text))
		},
		"Update": func(ctx context.Context) (e *table.Entity[T], err error) {
			_, err = all.Update(ctx, key, func(v *T) error { e = &table.Entity[T]{Value: *v}; return errSeen })
			if errors.Is(err, errSeen) {
				err = nil
			}
			return e, err
		},
	}
	return func(t *testing.T, want ...string) {
		t.Helper()
		for name, read := range ways {
			switch e, err := read(t.Context()); {
			case len(want) == 1:
				if !errors.Is(err, table.ErrNotFound) {
					t.Errorf("%s: got %v, error %v; want ErrNotFound", name, e, err)
				}
			case err != nil || *of.text(&e.Value) != want[0]:
				t.Errorf("%s: got %v, error %v; want %q", name, e, err, want[0])
			}
		}
		var got []string
		for e, err := range all.List(t.Context(), table.Query[T]{Partition: keys.RawPartition("a")}) {
			testkit.NoError(t, err)
			got = append(got, *of.text(&e.Value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed: got %q; want %q", got, want)
		}
	}
}
