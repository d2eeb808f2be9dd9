package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// manifestOf returns a manifest of three chunks.
func manifestOf(t *testing.T) []byte {
	t.Helper()
	begun := time.Date(2026, 11, 28, 2, 0, 0, 0, time.UTC)
	h := header{Format: format, Table: "staff", Begun: begun, Consistency: byPage}
	b, err := sealed(&h)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		c := chunk{Name: fmt.Sprintf("%06d-0123456789abcdef.ndjson.gz", i+1), Rows: 10, Bytes: 1000, SHA256: "0123456789abcdef", Begun: begun, Ended: begun.Add(time.Minute)}
		c.From = place{pk: fmt.Sprint("p", i)}
		if i == 0 {
			c.From = place{}
		}
		if i < 2 {
			c.To = &place{pk: fmt.Sprint("p", i+1)}
		}
		line, err := sealed(&c)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, line...)
	}
	return b
}

// piecesOf returns the error of a manifest.
func piecesOf(b []byte) error {
	m, err := parseManifest(b)
	if err != nil {
		return err
	}
	_, err = m.pieces()
	return err
}

// TestEachByte: a manifest of which any byte was altered is no unfinished export, and one that was
// cut at any byte of its last lines is one.
func TestEachByte(t *testing.T) {
	t.Parallel()
	whole := manifestOf(t)
	if err := piecesOf(whole); err != nil {
		t.Fatal(err)
	}
	var altered *ManifestError
	harmless := 0
	for i := range whole {
		for _, bit := range []byte{1, 2, 4, 0x20, 0x80} {
			b := bytes.Clone(whole)
			b[i] ^= bit
			err := piecesOf(b)
			if err == nil {
				harmless++ // a line break became a space, as in whole[i] = '\n'
				continue
			}
			if !errors.As(err, &altered) || errors.Is(err, ErrIncomplete) {
				t.Errorf("byte %d, %q for %q: got error %v; want a *ManifestError", i, b[i], whole[i], err)
			}
		}
	}
	if harmless > 16 {
		t.Errorf("got %d altered bytes that make no difference; want those of line breaks alone", harmless)
	}
	first := bytes.Index(whole, []byte(`{"chunk"`))
	for i := first; i < len(whole)-2; i++ {
		if err := piecesOf(whole[:i]); !errors.Is(err, ErrIncomplete) {
			t.Errorf("cut behind %d bytes: got error %v; want ErrIncomplete", i, err)
		}
	}
	for i := 1; i < first-3; i++ {
		if err := piecesOf(whole[:i]); i > 1 && err != error(errTorn) {
			t.Errorf("cut behind %d bytes: got error %v; want that of a first line that was cut", i, err)
		}
	}
}

// TestTwoHeaders: of two exports that have begun at once, one by stamps and one by pages, the
// manifest claims no more than both have read.
func TestTwoHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range [][]string{{byPartition, byPage}, {byPage, byPartition}, {byPartition, byPartition}} {
		var b []byte
		want := byPartition
		for _, consistency := range c {
			line, err := sealed(&header{Format: format, Table: "staff", Consistency: consistency})
			if err != nil {
				t.Fatal(err)
			}
			b = append(b, line...)
			if consistency == byPage {
				want = byPage
			}
		}
		m, err := parseManifest(b)
		if err != nil || m.header.Consistency != want {
			t.Errorf("%q: got %+v, %v; want %q", c, m, err, want)
		}
	}
}

// TestNoManifest: what is not the beginning of a manifest is not taken for one that a crash has cut, and lines of two exports are none.
func TestNoManifest(t *testing.T) {
	t.Parallel()
	first := func(h header) string {
		h.Format = format
		line, err := sealed(&h)
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	staff := first(header{Table: "staff"})
	seal := func(more map[string]any) string {
		line, err := sealed(more)
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	for name, c := range map[string]struct {
		content string
		torn    bool
	}{
		"nothing":              {"", true},
		"a line break":         {"\n", true},
		"half of a first line": {staff[:len(staff)/2], true},
		"another file":         {"PartitionKey,RowKey\na,1\n", false},
		"half of another file": {`{"name":"staff","rows":[`, false},
		"an altered line":      {strings.Replace(staff, "staff", "stuff", 1), false},
		"another table":        {staff + first(header{Table: "other"}), false},
		"entities":             {staff + first(header{Table: "staff", Entities: true}), false},
		"another beginning":    {staff + first(header{Table: "staff", Whole: span{From: place{pk: "a"}}}), false},
		"an unreadable header": {seal(map[string]any{"format": format, "begun": "today"}), false},
		"an unreadable chunk":  {staff + seal(map[string]any{"chunk": 7}), false},
		"another end":          {staff + first(header{Table: "staff", Whole: span{To: &place{pk: "a"}}}), false},
	} {
		_, err := parseManifest([]byte(c.content))
		if !errors.As(err, new(*ManifestError)) || (err == error(errTorn)) != c.torn {
			t.Errorf("%s: got error %v; want a *ManifestError, that of a crash: %t", name, err, c.torn)
		}
	}
}

// TestEmptyChunk: the line of a chunk without a range takes nothing from the others, and lines that are there twice are one.
func TestEmptyChunk(t *testing.T) {
	t.Parallel()
	m, err := parseManifest(append(manifestOf(t), manifestOf(t)...))
	if err == nil && len(m.chunks) != 3 {
		t.Errorf("got %d chunks; want 3", len(m.chunks))
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := m.lastWork().Sub(m.header.Begun); got != time.Minute {
		t.Errorf("got the last chunk %v after the beginning; want 1 min", got)
	}
	p := place{pk: "p0a"}
	m.chunks = append([]chunk{{span: span{p, &p}}}, m.chunks...)
	all, err := m.pieces()
	if err != nil || len(all) != 3 {
		t.Fatalf("got %+v, %v; want 3 pieces", all, err)
	}
	for i, p := range all {
		if p.read.From != p.From || !p.read.sameEnd(p.span) {
			t.Errorf("piece %d: got %v; want all of %v", i, p.read, p.span)
		}
	}
}

// TestOverlappingChunks: of two chunks with common rows, the second one is read from the end of the first.
func TestOverlappingChunks(t *testing.T) {
	t.Parallel()
	end := place{pk: "b"}
	m := &manifest{chunks: []chunk{{span: span{To: &end}}, {span: span{From: place{pk: "a"}}}}}
	all, err := m.pieces()
	if err != nil || len(all) != 2 || all[1].read.From != end || all[1].read.To != nil {
		t.Errorf("got %+v, %v; want the rows from %v of the second chunk", all, err, end)
	}
}

// TestTorn: a partition in several chunks is of one moment if these have one stamp, and no rows twice.
func TestTorn(t *testing.T) {
	t.Parallel()
	of := func(from place, before, after string, torn ...string) piece {
		return piece{chunk{span: span{From: from}, Before: before, After: after, Torn: torn}, span{From: from}}
	}
	begin, within := of(place{}, "", "1"), place{"a", "5"}
	overlap := of(within, "1", "")
	overlap.From.rk = "4"
	for name, c := range map[string]struct {
		second piece
		want   int
	}{
		"the same stamp":              {of(within, "1", ""), 0},
		"another stamp":               {of(within, "2", ""), 1},
		"no stamp":                    {of(within, "", ""), 1},
		"rows that both have":         {overlap, 1},
		"between two partitions":      {of(place{pk: "b"}, "2", ""), 0},
		"torn within a chunk":         {of(place{pk: "b"}, "", "", "b"), 1},
		"torn within and between two": {of(within, "2", "", "a"), 1},
	} {
		first := begin
		if name == "no stamp" {
			first.After = ""
		}
		if got := torn([]piece{first, c.second}); got != c.want {
			t.Errorf("%s: got %d torn partitions; want %d", name, got, c.want)
		}
	}
}

// TestOrder: a chunk has no row before its beginning, and none that is not behind the one before.
func TestOrder(t *testing.T) {
	t.Parallel()
	w := newChunkWriter(place{pk: "b"}, time.Now())
	for _, c := range []struct {
		pk, rk string
		fits   bool
	}{{"a", "9", false}, {"b", "2", true}, {"b", "2", false}, {"b", "1", false}, {"c", "1", true}} {
		if err := w.add(&row{key: keys.Raw(c.pk, c.rk)}); (err == nil) != c.fits {
			t.Errorf("row %s, %s: got error %v; want it added: %t", c.pk, c.rk, err, c.fits)
		}
	}
}

// TestPendingRows: the manifest lists the first 100 commit records of a chunk that are pending, and counts all.
func TestPendingRows(t *testing.T) {
	t.Parallel()
	w := newChunkWriter(place{}, time.Now())
	state := edm.Column{Name: "State", Value: edm.Value{Kind: edm.String, S: "pending"}}
	for i := range 150 {
		if err := w.add(&row{key: keys.Raw("p", fmt.Sprintf("~i|%03d", i)), columns: []edm.Column{state}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.Pending) != 100 || w.PendingRows != 150 || w.Library["~i"] != 150 {
		t.Errorf("got %d of %d rows, and %v; want 100 of 150", len(w.Pending), w.PendingRows, w.Library)
	}
}

// TestChunkAsSaid: a chunk that is not as its line says is refused, also if its sum is.
func TestChunkAsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows  []string
		alter func(c *chunk)
		ok    bool
	}{
		"as it says":       {[]string{"1", "2"}, func(*chunk) {}, true},
		"one row more":     {[]string{"1", "2", "3"}, func(*chunk) {}, false},
		"one row fewer":    {[]string{"1"}, func(*chunk) {}, false},
		"another order":    {[]string{"2", "1"}, func(*chunk) {}, false},
		"one row twice":    {[]string{"1", "1"}, func(*chunk) {}, false},
		"before the range": {[]string{"1", "2"}, func(c *chunk) { c.From = place{"p", "2"} }, false},
		"behind the range": {[]string{"1", "2"}, func(c *chunk) { c.To = &place{"p", "2"} }, false},
		"another length":   {[]string{"1", "2"}, func(c *chunk) { c.Bytes++ }, false},
		"another sum":      {[]string{"1", "2"}, func(c *chunk) { c.SHA256 = strings.Repeat("0", 64) }, false},
	} {
		w, at := newChunkWriter(place{}, time.Now()), &Memory{}
		for _, rk := range c.rows {
			line, err := (&row{key: keys.Raw("p", rk)}).line(nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.zip.Write(line); err != nil {
				t.Fatal(err)
			}
		}
		content, err := w.finish(1, nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		w.Rows = 2
		c.alter(&w.chunk)
		if err := at.put(t.Context(), w.Name, content); err != nil {
			t.Fatal(err)
		}
		p := piece{w.chunk, span{}}
		err = p.each(t.Context(), at, func(*row) bool { return true })
		if c.ok != (err == nil) || err != nil && !errors.As(err, new(*ChunkError)) {
			t.Errorf("%s: got error %v; want a *ChunkError: %t", name, err, !c.ok)
		}
	}
}
