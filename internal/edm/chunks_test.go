package edm

import (
	"bytes"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

type chunked struct {
	Text string `table:",chunks"`
	Blob []byte `table:",chunks,part=10"`
}

// encoded returns the properties of a value.
func (c *chunked) encoded(t testing.TB) (*Codec, []Column) {
	t.Helper()
	p, err := NewCodec(reflect.TypeFor[chunked](), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter("p", "r", 0)
	p.Encode(w, reflect.ValueOf(c).Elem(), Stored{})
	body, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return p, body.Columns()
}

// TestChunksMissing: a value of which any chunk is missing or cut is an error.
func TestChunksMissing(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, chunkUnits - 1, chunkUnits, maxBinary / 2, 2 * chunkUnits, maxBinary, 3*chunkUnits + 5} {
		want := chunked{strings.Repeat("x", n), make([]byte, 2*n)}
		p, columns := want.encoded(t)
		got := chunked{}
		if err := p.Decode(ReadColumns(Entity{}, columns), reflect.ValueOf(&got).Elem()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d units: got %d and %d bytes, %v; want %d and %d", n, len(got.Text), len(got.Blob), err, len(want.Text), len(want.Blob))
		}
		for i := range columns {
			if last := i+1 == len(columns) || columns[i+1].Name[:4] != columns[i].Name[:4]; !last {
				short := append([]Column{}, columns...)
				short[i].Value.S, short[i].Value.B = short[i].Value.S[:len(short[i].Value.S)/2], short[i].Value.B[:len(short[i].Value.B)/2]
				if err := p.Decode(ReadColumns(Entity{}, short), reflect.ValueOf(new(chunked)).Elem()); err == nil {
					t.Errorf("%d units with half of %s: got no error, want one", n, columns[i].Name)
				}
			}
			left := append(append([]Column{}, columns[:i]...), columns[i+1:]...)
			alone := columns[i].Name[len(columns[i].Name)-2:] == "00" && (i+1 == len(columns) || columns[i+1].Name[:4] != columns[i].Name[:4])
			got = chunked{}
			if err := p.Decode(ReadColumns(Entity{}, left), reflect.ValueOf(&got).Elem()); (err == nil) != alone {
				t.Errorf("%d units without %s: got %v, want an error: %v", n, columns[i].Name, err, !alone)
			}
		}
	}
}

// FuzzChunks: a text is cut between characters into full chunks, and joined again.
func FuzzChunks(f *testing.F) {
	f.Add("a\U0001F600", uint16(16000))
	f.Add("é€", uint16(9000))
	f.Fuzz(func(t *testing.T, unit string, n uint16) {
		if len(unit) > 40 || !utf8.ValidString(unit) {
			return
		}
		text := strings.Repeat(unit, int(n)%20000)
		chunks := chunksOf(Value{Kind: String, S: text})
		joined := ""
		for i, c := range chunks {
			joined += c.S
			units := utf16Units(c.S)
			if full := units >= chunkUnits-1; !utf8.ValidString(c.S) || units > chunkUnits || full == (i == len(chunks)-1) {
				t.Errorf("chunk %d of %d: got %d units, want %d or one less in all chunks but the last", i, len(chunks), units, chunkUnits)
			}
		}
		if joined != text {
			t.Errorf("got %d bytes, want %d", len(joined), len(text))
		}
		names := numbered("n", len(chunks))
		if x, err := join(String, names, chunks); err != nil || x.S != text {
			t.Errorf("join: got %d bytes, %v; want %d", len(x.S), err, len(text))
		}
	})
}

// TestChunksCopies: a value of 2.6 MiB is copied once when it is encoded, so that the caller may change it, and once to its JSON;
// when it is decoded, once from each chunk's text and once to join the chunks.
func TestChunksCopies(t *testing.T) {
	const size = 2_600_000
	c := &chunked{Blob: bytes.Repeat([]byte{5}, size)}
	p, columns := c.encoded(t)
	ratio := func(f func()) float64 {
		const runs = 5
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / runs / size
	}
	if got := ratio(func() { c.encoded(t) }); got > 1.1 {
		t.Errorf("encode: got %.2f times the value allocated, want 1", got)
	}
	body := Body{PartitionKey: "p", RowKey: "r"}.WithColumns(columns)
	length := len(body.Append(nil, nil))
	if got := ratio(func() { body.Append(make([]byte, 0, length+100), nil) }); got > 1.4 {
		t.Errorf("JSON: got %.2f times the value allocated, want 4/3", got)
	}
	var into chunked
	if got := ratio(func() {
		into = chunked{}
		if err := p.Decode(ReadColumns(Entity{}, columns), reflect.ValueOf(&into).Elem()); err != nil {
			t.Fatal(err)
		}
	}); got > 1.1 {
		t.Errorf("decode from columns: got %.2f times the value allocated, want 1", got)
	}
	b := body.Append(nil, nil)
	if got := ratio(func() {
		r := NewReader(b)
		if _, err := r.One(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Columns(); err != nil {
			t.Fatal(err)
		}
	}); got > 1.3 {
		t.Errorf("columns from JSON: got %.2f times the value allocated, want 1", got)
	}
}
