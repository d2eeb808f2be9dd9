package table_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// leaf is an entity whose keys have no layout.
type leaf struct {
	Book, Page string
	V          int32
}

var leafSchema = table.Schema[leaf]{
	Partition: keys.RawPartitionOf(func(n *leaf) *string { return &n.Book }),
	Row:       keys.RawRowOf(func(n *leaf) *string { return &n.Page }),
}

// edgeRunes are characters on both sides of ~, the prefix of the library's rows, and characters that UTF-8 and UTF-16 order
// differently.
var edgeRunes = []rune{' ', '0', 'a', '}', '~', '\u00a0', 'Ö', '\ud7ff', '\ue000', '\uffff', '\U00010000', '😀', '\U0010ffff'}

// compareUTF16 compares in the service's order, independently of package keys.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// rowKeys are the keys of a row.
type rowKeys struct{ pk, rk string }

func (p rowKeys) isLibrarys() bool {
	return strings.HasPrefix(p.pk, "~") || strings.HasPrefix(p.rk, "~")
}

// TestKeyOrder: all methods that read, count, delete or grant agree with a model that knows the rows, the service's order, and
// that keys with the prefix ~ belong to the library. Other programs have written rows with any keys.
func TestKeyOrder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		s := storagetest.New(nil)
		service := serviceOf(t, s)
		notes, err := bare.NewTable(service, "notes", leafSchema, nil)
		noError(rt, err)
		noError(rt, tabledoor.Ensure(ctx, notes))
		text := rapid.Custom(func(rt *rapid.T) string {
			return string(rapid.SliceOfN(rapid.SampledFrom(edgeRunes), 1, 2).Draw(rt, "runes"))
		})
		raw := service.NewClient("notes")
		var rows []rowKeys
		for range rapid.IntRange(0, 12).Draw(rt, "n") {
			p := rowKeys{text.Draw(rt, "pk"), text.Draw(rt, "rk")}
			if slices.Contains(rows, p) {
				continue
			}
			rows = append(rows, p)
			if !p.isLibrarys() && rapid.Bool().Draw(rt, "by the library") {
				_, err := notes.Insert(ctx, &leaf{p.pk, p.rk, 1})
				noError(rt, err)
				continue
			}
			_, err := raw.AddEntity(ctx, fmt.Appendf(nil, `{"PartitionKey":"%s","RowKey":"%s","V":1}`, p.pk, p.rk), nil)
			noError(rt, err)
		}
		slices.SortFunc(rows, func(a, b rowKeys) int {
			if n := compareUTF16(a.pk, b.pk); n != 0 {
				return n
			}
			return compareUTF16(a.rk, b.rk)
		})
		m := keyOrderModel{rt, notes, rows}
		m.checkReads(ctx, table.Query[leaf]{TableScan: true}, "", "")
		m.checkPartitions(ctx, text.Draw(rt, "after"))
		from, to := drawBound(rt, text, "from"), drawBound(rt, text, "to")
		if to != "" && compareUTF16(from, to) > 0 {
			from, to = to, from
		}
		if from == to || from == "~" && to == reserved.FirstAbove {
			to = "" // a range without keys may be refused
		}
		r := keys.RawRows(from, to)
		noError(rt, r.Err())
		for _, p := range rows {
			if in := r.Contains(p.rk); in != inRange(p.rk, from, to) {
				rt.Fatalf("%v contains %q: got %v; want %v", r, p.rk, in, inRange(p.rk, from, to))
			}
		}
		m.checkReads(ctx, table.Query[leaf]{TableScan: true, Rows: r}, from, to)
		for _, p := range rows {
			if strings.HasPrefix(p.pk, "~") {
				continue
			}
			m.checkReads(ctx, table.Query[leaf]{Partition: keys.RawPartition(p.pk)}, "", "")
			m.checkReads(ctx, table.Query[leaf]{Partition: keys.RawPartition(p.pk), Rows: r}, from, to)
			if there, err := baretest.Exists(ctx, notes, keys.Raw(p.pk, p.rk)); err != nil || !there {
				rt.Fatalf("%q: got %v, %v; want no error and there", p, there, err)
			}
			if _, err := notes.Get(ctx, keys.Raw(p.pk, p.rk)); (err == nil) == p.isLibrarys() {
				rt.Fatalf("Get of %q: got %v; want an error: %v", p, err, p.isLibrarys())
			}
		}
		m.checkGrant(s, keys.RawPartitions(from, to), from, to)
		m.checkDelete(ctx, r, from, to)
	})
}

// drawBound draws a bound of a range, possibly empty.
func drawBound(rt *rapid.T, text *rapid.Generator[string], what string) string {
	s := text.Draw(rt, what)
	if strings.HasPrefix(s, "~") {
		s = rapid.SampledFrom([]string{"", "~"}).Draw(rt, what+" of ~")
	}
	return s
}

// inRange reports whether a range without a layout contains a key.
func inRange(s, from, to string) bool {
	return !strings.HasPrefix(s, "~") && compareUTF16(s, from) >= 0 && (to == "" || compareUTF16(s, to) < 0)
}

// keyOrderModel compares a table with the rows that it should contain.
type keyOrderModel struct {
	*rapid.T
	notes *table.Table[leaf]
	rows  []rowKeys // in order
}

// wantKeys returns the keys of the rows that a query should find.
func (m keyOrderModel) wantKeys(q table.Query[leaf], from, to string) (want []rowKeys) {
	for _, p := range m.rows {
		if (!q.Partition.IsSet() || q.Partition.String() == p.pk) && !p.isLibrarys() && inRange(p.rk, from, to) {
			want = append(want, p)
		}
	}
	return want
}

// checkReads compares every method that lists or counts.
func (m keyOrderModel) checkReads(ctx context.Context, q table.Query[leaf], from, to string) {
	want := m.wantKeys(q, from, to)
	var listed, seen, paged, resumed []rowKeys
	for e, err := range m.notes.List(ctx, q) {
		noError(m, err)
		listed = append(listed, rowKeys{e.Value.Book, e.Value.Page})
	}
	for r, err := range m.notes.Rows(ctx, q) {
		noError(m, err)
		seen = append(seen, rowKeys{r.Key.PartitionKey(), r.Key.RowKey()})
	}
	some := q
	some.Limit = 2
	for token := ""; ; {
		page, err := m.notes.Page(ctx, some, token)
		noError(m, err)
		for _, e := range page.Entities {
			paged = append(paged, rowKeys{e.Value.Book, e.Value.Page})
		}
		if token = page.Token; token == "" {
			break
		}
	}
	q.Cursor = table.NewCursor("")
	for !q.Cursor.Done() { // stopped after each row, and resumed by another process
		q.Cursor = table.NewCursor(q.Cursor.Token())
		for e, err := range m.notes.List(ctx, q) {
			noError(m, err)
			resumed = append(resumed, rowKeys{e.Value.Book, e.Value.Page})
			break
		}
	}
	q.Cursor = nil
	n, err := m.notes.Count(ctx, q)
	noError(m, err)
	for what, got := range map[string][]rowKeys{"List": listed, "Rows": seen, "Page": paged, "Cursor": resumed} {
		if !slices.Equal(got, want) {
			m.Fatalf("%s of %v: got %q; want %q", what, q.Rows, got, want)
		}
	}
	if n != len(want) {
		m.Fatalf("Count of %v: got %d; want %d", q.Rows, n, len(want))
	}
	ex, err := m.notes.Explain(q)
	if got := strings.Count(ex.Filter, "RowKey ") + strings.Count(ex.Filter, "PartitionKey "); err != nil || got != ex.Comparisons {
		m.Fatalf("got %d comparisons, %v; want %d in %+v", got, err, ex.Comparisons, ex)
	}
}

// checkPartitions compares the partitions from the beginning and from behind a key.
func (m keyOrderModel) checkPartitions(ctx context.Context, after string) {
	var want, behind, got, rest, each []string
	for _, p := range m.rows {
		if !strings.HasPrefix(p.pk, "~") && !slices.Contains(want, p.pk) {
			want = append(want, p.pk)
			if compareUTF16(p.pk, after) > 0 {
				behind = append(behind, p.pk)
			}
		}
	}
	for pk, err := range m.notes.Partitions(ctx, keys.PartitionRange{}) {
		noError(m, err)
		got = append(got, pk.String())
	}
	for pk, err := range m.notes.Partitions(ctx, keys.RawPartitions("", "").Behind(keys.Raw(after, "").Partition())) {
		noError(m, err)
		rest = append(rest, pk.String())
	}
	_, err := table.EachPartition(ctx, m.notes, &table.Pass{Concurrency: 1}, func(_ context.Context, pk keys.PartitionKey) error {
		each = append(each, pk.String())
		return nil
	})
	noError(m, err)
	if !slices.Equal(got, want) || !slices.Equal(rest, behind) || !slices.Equal(each, want) {
		m.Fatalf("got %q, %q; want %q; behind %q: got %q; want %q", got, each, want, after, rest, behind)
	}
}

// checkGrant compares a grant for a range of partitions. Sign refuses the range, or the grant is for exactly that range.
func (m keyOrderModel) checkGrant(s *storagetest.Service, r keys.PartitionRange, from, to string) {
	first, last, err := r.Inclusive()
	if err != nil {
		if !r.SpansReserved() && slices.ContainsFunc(m.rows, func(p rowKeys) bool { return inRange(p.pk, from, to) }) {
			m.Fatalf("%v: got %v; want r.SpansReserved() or not slices.ContainsFunc(m.rows, func(p rowKeys) bool { return inRange(p.pk, from, to) })", r, err)
		}
		return
	}
	for _, p := range m.rows {
		in := compareUTF16(p.pk, first) >= 0 && (last == "" || compareUTF16(p.pk, last) <= 0)
		// Keys with the prefix of the last key may be missing, since no last key is above all of them.
		if want := inRange(p.pk, from, to); in != want && !(want && strings.HasPrefix(p.pk, last)) {
			m.Fatalf("%v from %q to %q contains %q: got %v; want %v", r, first, last, p.pk, in, want)
		}
	}
	cred, err := aztables.NewSharedKeyCredential(s.Account(), s.Key())
	noError(m, err)
	_, err = account.Grant{Table: "notes", Read: true, Partitions: r, Expiry: s.Now().Add(1e12)}.Sign(cred)
	noError(m, err)
}

// checkDelete deletes the rows of a query, and compares the rest.
func (m keyOrderModel) checkDelete(ctx context.Context, r keys.RowRange, from, to string) {
	q := table.Query[leaf]{TableScan: true, Rows: r}
	want := m.wantKeys(q, from, to)
	result, err := table.BulkDelete(ctx, m.notes, q, nil)
	noError(m, err)
	if result.Changed != len(want) {
		m.Fatalf("got %d deleted; want %d", result.Changed, len(want))
	}
	for _, p := range m.rows {
		there, err := baretest.Exists(ctx, m.notes, keys.Raw(p.pk, p.rk))
		if noError(m, err); there == slices.Contains(want, p) {
			m.Fatalf("%q: got existence %v after the delete; want %v", p, there, !there)
		}
	}
}
