package transfer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// row is a row as it is stored, or was when it was exported.
type row struct {
	key       keys.Key
	timestamp time.Time
	columns   []edm.Column
}

// newRow returns a row that was read. An empty mark is no content: a transaction that has only read
// the row may have left it.
func newRow(in edm.Entity, columns []edm.Column) *row {
	return &row{keys.Raw(in.PartitionKey, in.RowKey), in.Timestamp, stored.Content(columns)}
}

func (r *row) place() place { return place{r.key.PartitionKey(), r.key.RowKey()} }

// stored returns the row as the engine has it, nil for nil.
func (r *row) stored() *stored.Row {
	if r == nil {
		return nil
	}
	s := stored.New(r.key, r.columns)
	s.Timestamp = r.timestamp
	return s
}

// body returns the row as the service takes it.
func (r *row) body() (edm.Body, error) {
	w := edm.NewCopyWriter(r.key.PartitionKey(), r.key.RowKey(), r.columns)
	for _, c := range r.columns {
		c.Part = 0
		w.PutColumn(c)
	}
	return w.Finish()
}

// line returns the row as a line of a chunk: as the service takes it, with the time of its last
// change.
func (r *row) line(to []byte) ([]byte, error) {
	b, err := r.body()
	if err != nil {
		return to, err
	}
	if r.timestamp.IsZero() { // it is not known, of a row of a file
		return append(b.Append(to, nil), '\n'), nil
	}
	at := edm.Column{Name: edm.Timestamp, Value: edm.Value{Kind: edm.DateTime, T: r.timestamp}}
	return append(b.Append(to, at.Ending()), '\n'), nil
}

// rowOf reads a line of a chunk.
func rowOf(line []byte) (r row, err error) {
	in := edm.NewReader(line)
	e, err := in.One()
	if err != nil {
		return r, err
	}
	if r.columns, err = in.Columns(); err != nil {
		return r, err
	}
	return *newRow(e, r.columns), nil
}

// chunkWriter writes a chunk in memory.
type chunkWriter struct {
	chunk
	content bytes.Buffer
	zip     *gzip.Writer
	plain   int // bytes before they were compressed
	last    keys.Key
	line    []byte

	entities  bool            // other rows are left out
	snapshots *snapshotReader // nil without snapshots

	through *string // the last partition that is complete, as far as the rows tell; nil for none
}

// pass notes the key of a row that is written or left out.
func (w *chunkWriter) pass(k keys.Key) {
	if pk := w.last.PartitionKey(); w.last != (keys.Key{}) && pk != k.PartitionKey() {
		w.through = &pk
	}
	w.last = k
}

func newChunkWriter(from place, now time.Time) *chunkWriter {
	w := &chunkWriter{chunk: chunk{span: span{From: from}, Begun: now}}
	w.zip, _ = gzip.NewWriterLevel(&w.content, gzip.BestSpeed) // the level is valid
	return w
}

// next returns the writer of the chunk behind this one.
func (w *chunkWriter) next(from place, now time.Time) *chunkWriter {
	c := newChunkWriter(from, now)
	c.zip = w.zip // its tables have 1 MB
	c.zip.Reset(&c.content)
	c.last, c.entities, c.snapshots, c.Before = w.last, w.entities, w.snapshots, w.After
	return c
}

// addPage adds the rows of a page. again is where rows begin that are to be read again, nil for
// none.
func (w *chunkWriter) addPage(ctx context.Context, page []*row, more bool) (again *place, err error) {
	if len(page) > 0 { // before another partition is watched
		first := page[0].place()
		if err := w.endPartition(ctx, &first); err != nil {
			return nil, err
		}
	}
	if page, again, err = w.snapshots.settle(ctx, page, more); err != nil {
		return nil, err
	}
	for _, r := range page {
		at := r.place()
		if err := w.endPartition(ctx, &at); err != nil {
			return nil, err
		}
		if err := w.add(r); err != nil {
			return nil, err
		}
	}
	if again != nil {
		return again, w.endPartition(ctx, again)
	}
	return nil, nil
}

// endPartition ends the partition that was read last, unless rows of it follow from a place on.
func (w *chunkWriter) endPartition(ctx context.Context, next *place) error {
	if w.snapshots == nil {
		return nil
	}
	torn, err := w.snapshots.endedBefore(ctx, next)
	w.Torn = append(w.Torn, torn...)
	return err
}

// add adds a row behind those before it, or notes that it is left out.
func (w *chunkWriter) add(r *row) (err error) {
	if w.entities && !isEntity(r) {
		w.pass(r.key) // where to go on
		return nil
	}
	at := r.place()
	if at.compare(w.From) < 0 || w.Last != nil && at.compare(*w.Last) <= 0 {
		return fmt.Errorf("row %v is not behind the row before it: the service does not sort its rows as the Table service does", r.key)
	}
	if w.line, err = r.line(w.line[:0]); err != nil {
		return fmt.Errorf("row %v: %w", r.key, err)
	}
	if _, err := w.zip.Write(w.line); err != nil {
		return err
	}
	w.plain += len(w.line)
	if w.Rows == 0 {
		w.First = &at
	}
	w.Last = &at
	w.pass(r.key)
	w.Rows++
	w.note(r, at)
	return nil
}

// note counts what a restore has to know of.
func (w *chunkWriter) note(r *row, at place) {
	if stored.HasMark(r.columns) || strings.HasPrefix(at.rk, reserved.Prepared) {
		w.PreparedRows++
		w.Prepared = first(w.Prepared, at)
	}
	if !strings.HasPrefix(at.rk, reserved.First) {
		return
	}
	kind, _, _ := strings.Cut(at.rk, "|")
	if w.Library == nil {
		w.Library = map[string]int{}
	}
	w.Library[kind]++
	if strings.HasPrefix(at.rk, reserved.CommitRecord) && stored.Find(r.columns, "State").S == "pending" {
		w.PendingRows++
		w.Pending = first(w.Pending, at)
	}
}

// first adds a place to a list of the first 100.
func first(all []place, p place) []place {
	if len(all) < 100 {
		all = append(all, p)
	}
	return all
}

// finish ends the chunk before a place, the end of the table if it is nil.
func (w *chunkWriter) finish(number int, end *place, now time.Time) ([]byte, error) {
	if err := w.zip.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(w.content.Bytes())
	w.SHA256 = hex.EncodeToString(sum[:])
	w.Name = fmt.Sprintf("%06d-%s.ndjson.gz", number, w.SHA256[:16])
	w.To, w.Bytes, w.Ended = end, int64(w.content.Len()), now
	return w.content.Bytes(), nil
}

// The most bytes of a chunk and of a line that are read.
const (
	mostChunk = 1 << 30
	mostLine  = 8 << 20
)

// rows yields the rows of a piece. The chunk is compared with its line before the first row.
func (p *piece) rows(ctx context.Context, from Place) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
		if err := p.each(ctx, from, func(r *row) bool { return yield(r, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func (p *piece) each(ctx context.Context, from Place, f func(*row) bool) error {
	fail := func(n int, reason string, err error) error {
		return &FileError{File: p.Name, Line: n, Reason: reason, Err: err}
	}
	if !isChunkName.MatchString(p.Name) {
		return fail(0, "has a name that no chunk has", nil)
	}
	b, err := from.get(ctx, p.Name, mostChunk)
	if err != nil {
		return fail(0, "cannot be read", err)
	}
	sum := sha256.Sum256(b)
	if hex.EncodeToString(sum[:]) != p.SHA256 || int64(len(b)) != p.Bytes {
		return fail(0, "is not what the manifest says: it was altered or cut", nil)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return fail(0, "cannot be unpacked", err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(make([]byte, 64<<10), mostLine)
	n := 0
	last := place{}
	for lines.Scan() {
		if n++; n > p.Rows {
			return fail(n, "is one more than the manifest says", nil)
		}
		r, err := rowOf(bytes.Clone(lines.Bytes()))
		if err != nil {
			return fail(n, "cannot be read", err)
		}
		at := r.place()
		if !p.span.contains(at) || n > 1 && last.compare(at) >= 0 {
			return fail(n, "is not in the order of the rows, or not in the range of the chunk", nil)
		}
		last = at
		if p.read.contains(at) && !f(&r) {
			return nil
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fail(n+1, "cannot be unpacked", err)
	}
	if n != p.Rows {
		return fail(0, fmt.Sprintf("has %d rows, and not %d", n, p.Rows), nil)
	}
	return nil
}

// readSpan reads the rows of a span as they are stored, page by page. f gets each row, and turn is
// called behind each page with whether more may follow; either ends the reading by false.
func readSpan(ctx context.Context, t *engine.Table, s span, f func(*row) bool, turn func(more bool) bool) error {
	filters := s.filters()
	for i, filter := range filters {
		on := true
		err := t.Physical(ctx, filter, "", func(in edm.Entity, columns []edm.Column) bool {
			on = f(newRow(in, columns))
			return on
		}, func(more bool) bool {
			on = turn == nil || turn(more || i < len(filters)-1)
			return on
		})
		if err != nil || !on {
			return err
		}
	}
	return nil
}
