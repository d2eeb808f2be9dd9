package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/table"
)

// ManifestName is the name of the manifest of an export.
const ManifestName = "manifest.ndjson"

// format is the form of manifests and chunks.
const format = "aztablekit-export/1"

// mostManifest is the most bytes of a manifest that are read: a line has 400 to 200,000.
const mostManifest = 1 << 30

// header is the first line of a manifest.
type header struct {
	Format string    `json:"format"`
	Table  string    `json:"table"`
	Begun  time.Time `json:"begun"`
	Whole  span      `json:"range"`

	// Entities says that derived rows and the rows of the library were left out.
	Entities bool `json:"entities,omitempty"`

	// Consistency says which rows are of one moment: those of a page (up to 1,000), or those of
	// each partition that is not torn.
	Consistency string `json:"consistency"`

	// Catalogue is the row of the table's definitions, as a line of a chunk.
	Catalogue json.RawMessage `json:"catalogue,omitempty"`
}

// chunk is the line of a chunk.
type chunk struct {
	Name string `json:"chunk"`
	span
	First  *place `json:"first,omitempty"`
	Last   *place `json:"last,omitempty"`
	Rows   int    `json:"rows"`
	Bytes  int64  `json:"bytes"` // of the blob or file
	SHA256 string `json:"sha256"`

	Begun time.Time `json:"begun"`
	Ended time.Time `json:"ended"`

	// Torn are the partitions whose rows are of different moments, of those that end in this chunk.
	// Before and After are stamps of the partitions in which the chunk begins and ends: from before
	// its first row was read, and from after its last, which is also that from before.
	Torn   []string `json:"torn,omitempty"`
	Before string   `json:"stampBefore,omitempty"`
	After  string   `json:"stampAfter,omitempty"`

	// What the rows of the library mean to a restore.
	Library  map[string]int `json:"library,omitempty"`  // rows of the library, by the beginning of their RowKeys
	Pending  []place        `json:"pending,omitempty"`  // commit records with effects that are not executed, the first of them
	Prepared []place        `json:"prepared,omitempty"` // rows of writes over several partitions that are under way, the first of them

	PendingRows  int `json:"pendingRows,omitempty"` // all of these
	PreparedRows int `json:"preparedRows,omitempty"`
}

// wrongManifest returns the error of a manifest that is no export's, not of this one, or was
// altered.
func wrongManifest(reason string) *FileError { return &FileError{File: ManifestName, Reason: reason} }

// manifest is what a manifest says.
type manifest struct {
	header header
	chunks []chunk // in the order of their lines, each once

	damaged []int // the numbers of lines that were altered, not cut by a crash
}

// errTorn is the error of a manifest whose first line was cut by a crash, or is not there: a file
// is created before its first line, and a chunk is written behind it.
var errTorn = wrongManifest("has no first line, or only the beginning of one, as after an export that was ended before its first chunk; Export begins it again, of the table as it is now")

// crcMember begins the last member of a line, and crcTail is how long it is.
const (
	crcMember = `,"crc":"`
	crcTail   = crcMember + `00000000"}`
)

// sealed returns a line of a manifest: JSON whose last member is a checksum. It begins with a line
// break, so that it is a line of its own also behind one that a crash has cut.
func sealed(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "\n%s,\"crc\":\"%08x\"}\n", b[:len(b)-1], crc32.ChecksumIEEE(b)), nil
}

// unsealed returns the JSON of a line.
func unsealed(line []byte) (b []byte, ok bool) {
	const tail = len(crcTail)
	if len(line) < tail+2 {
		return nil, false
	}
	b = append(slices.Clone(line[:len(line)-tail]), '}')
	return b, string(line[len(line)-tail:]) == fmt.Sprintf(",\"crc\":\"%08x\"}", crc32.ChecksumIEEE(b))
}

// readManifest reads a manifest. It returns nil if there is none.
func readManifest(ctx context.Context, from Place) (*manifest, error) {
	b, err := from.get(ctx, ManifestName, mostManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseManifest(b)
}

// isCut reports whether a line that is not sealed is the beginning of one that is: a process has
// crashed while it added the line. Any other one was altered.
func isCut(line []byte) bool {
	at := bytes.LastIndex(line, []byte(crcMember))
	whole := at >= 0 && len(line)-at >= len(crcTail)
	var v any
	return !whole && errors.Is(json.NewDecoder(bytes.NewReader(line)).Decode(&v), io.ErrUnexpectedEOF)
}

func parseManifest(b []byte) (*manifest, error) {
	r := manifestReader{lines: map[string]bool{}}
	number := 0
	for line := range bytes.Lines(b) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if err := r.line(line, number); err != nil {
			return nil, err
		}
	}
	switch {
	case r.of == nil && !r.strange && len(r.damaged) == 0:
		return nil, errTorn
	case r.of == nil:
		return nil, wrongManifest("has no first line; it is no manifest of this package, or was cut")
	}
	r.of.damaged = r.damaged
	return r.of, nil
}

// manifestReader is a manifest that is read line by line.
type manifestReader struct {
	of      *manifest // nil before its first line
	lines   map[string]bool
	damaged []int // the numbers of lines that are not sealed
	strange bool  // a line that is not sealed is none of a manifest
}

func (r *manifestReader) line(line []byte, number int) error {
	content, sealed := unsealed(line)
	if !sealed {
		r.strange = r.strange || !bytes.HasPrefix([]byte(`{"format":"`+format), line[:min(len(line), 12)])
		if !isCut(line) {
			r.damaged = append(r.damaged, number)
		}
		return nil
	}
	var of struct {
		Format *string `json:"format"`
	}
	err := json.Unmarshal(content, &of)
	switch {
	case err != nil:
		return wrongManifest("has a line that is no JSON: " + err.Error())
	case of.Format == nil:
		return r.chunk(content)
	case *of.Format != format:
		return wrongManifest(fmt.Sprintf("has the format %.80q; this version reads %q", *of.Format, format))
	}
	return r.header(content)
}

// chunk adds a chunk.
func (r *manifestReader) chunk(content []byte) error {
	var c chunk
	if err := json.Unmarshal(content, &c); err != nil {
		return wrongManifest("has a line that is of no chunk: " + err.Error())
	}
	if r.of == nil {
		return wrongManifest("has no first line; it was cut")
	}
	if !r.lines[string(content)] { // else the line was added twice, because a response was lost
		r.lines[string(content)] = true
		r.of.chunks = append(r.of.chunks, c)
	}
	return nil
}

// header reads a first line, of which there may be several.
func (r *manifestReader) header(content []byte) error {
	var h header
	if err := json.Unmarshal(content, &h); err != nil {
		return wrongManifest("has a first line that cannot be read: " + err.Error())
	}
	switch {
	case r.of == nil:
		r.of = &manifest{header: h}
	case !h.sameWork(r.of.header):
		return wrongManifest("has lines of two exports")
	case h.Consistency != byPartition: // of two processes that have begun at once, one reads without stamps
		r.of.header.Consistency = h.Consistency
	}
	return nil
}

// sameWork reports whether two headers are of one export.
func (h header) sameWork(o header) bool {
	return h.Table == o.Table && h.Entities == o.Entities && h.Whole.From == o.Whole.From && h.Whole.sameEnd(o.Whole)
}

// lastNumber returns the highest number of a chunk.
func (m *manifest) lastNumber() (last int) {
	for _, c := range m.chunks {
		digits, _, _ := strings.Cut(c.Name, "-")
		if n, err := strconv.Atoi(digits); err == nil {
			last = max(last, n)
		}
	}
	return last
}

// spans returns the spans of the chunks.
func (m *manifest) spans() []span {
	all := make([]span, len(m.chunks))
	for i, c := range m.chunks {
		all[i] = c.span
	}
	return all
}

// piece is a chunk, and the part of it that is read: what no chunk before it has.
type piece struct {
	chunk
	read span
}

// pieces returns the chunks in the order of their rows. A chunk is read for what no line before it
// has: so a late line of another process changes nothing of an export that is finished. Errors:
// table.ErrIncomplete.
func (m *manifest) pieces() (all []piece, err error) {
	missing := gaps(m.header.Whole, m.spans())
	switch {
	case len(missing) > 0 && len(m.damaged) > 0:
		return nil, m.damage()
	case len(missing) > 0:
		from := missing[0].From
		return nil, fmt.Errorf("%w: rows from %q are missing, and perhaps others; its last chunk is of %s",
			table.ErrIncomplete, []string{from.pk, from.rk}, m.lastWork().Format(time.DateTime))
	}
	left := []span{m.header.Whole} // what no line before has
	for _, c := range m.chunks {
		first := slices.IndexFunc(left, func(s span) bool { return s.reaches(c.From) })
		if first < 0 {
			continue
		}
		var rest []span
		last := first
		for ; last < len(left) && c.span.reaches(left[last].From); last++ {
			s := left[last]
			read := s.intersect(c.span)
			if read.isEmpty() {
				rest = append(rest, s)
				continue
			}
			all = append(all, piece{c, read})
			if before := (span{s.From, &read.From}); !before.isEmpty() {
				rest = append(rest, before)
			}
			if read.To != nil && s.reaches(*read.To) {
				rest = append(rest, span{*read.To, s.To})
			}
		}
		left = slices.Replace(left, first, last, rest...)
	}
	slices.SortFunc(all, func(a, b piece) int { return a.read.From.compare(b.read.From) })
	return all, nil
}

// The values of header.Consistency.
const (
	byPage      = "page"
	byPartition = "partition"
)

// torn returns how many partitions of an export are torn.
func torn(pieces []piece) int {
	all := map[string]bool{}
	var before *piece
	for i := range pieces {
		p := &pieces[i]
		for _, pk := range p.Torn {
			all[pk] = true
		}
		// A partition in two chunks is of one moment only if one export has read it: by the same
		// stamp, and without rows that both have.
		if at := p.read.From; before != nil && at.rk != "" && (at != p.From || p.Before == "" || p.Before != before.After) {
			all[at.pk] = true
		}
		before = p
	}
	return len(all)
}
