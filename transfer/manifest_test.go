package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"
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
