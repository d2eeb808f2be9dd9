package transfer

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/exports"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/split"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ExportOptions are the options of [Export]. The zero value exports the whole table.
type ExportOptions struct {
	// Pass has Partitions, the range to export; Concurrency, the ranges of the table that are read
	// at the same time, 4 by default; Rate, the most rows that are read in a second; and Progress,
	// which is called after each chunk. No chunk is stored meanwhile.
	table.Pass

	// Entities leaves out derived rows and the rows of the library: for tables whose derived rows
	// are rebuilt, by ImportEntities, or by Import into a table that does not exist and
	// aztablekit.Store.Fill. Effects that are due, and the rows of blobs, are lost then.
	Entities bool

	// Part is the part of Partitions that this call exports: several machines share a large table,
	// a part each, and jobs.Export does so by itself. A last call without Part exports what no part
	// contains, and fails if rows are missing. Unset means all.
	Part keys.PartitionRange

	// GoOn goes on with an export that Export would leave as it is (table.ErrExists): its rows
	// are then of times that may be days apart, and what a damaged
	// line of the manifest has named is exported again, as the table is now.
	GoOn bool

	// ChunkBytes is about how many bytes of a chunk there are before it is compressed. A chunk is
	// kept in memory, compressed, until it is stored. Defaults to 16 MiB, and may be 256 MiB.
	ChunkBytes int

	// ChunkTime is for how long a chunk is read, and the page that is under way then, before it is
	// stored: what a crash loses. 0 means no limit.
	ChunkTime time.Duration
}

const mostChunkBytes = 256 << 20

func (o *ExportOptions) check() error {
	switch {
	case o.ChunkBytes < 0:
		return &table.ValueError{Field: "ExportOptions.ChunkBytes", Reason: "is negative; 0 means 16 MiB"}
	case o.ChunkBytes > mostChunkBytes:
		return &table.LimitError{Field: "ExportOptions.ChunkBytes", Limit: "bytes of a chunk, which is kept in memory", Got: o.ChunkBytes, Max: mostChunkBytes}
	case o.ChunkTime < 0:
		return &table.ValueError{Field: "ExportOptions.ChunkTime", Reason: "is negative; 0 means no limit"}
	}
	return cmp.Or(door.CheckPass(&o.Pass, "Partitions", "Concurrency", "Rate"), o.Partitions.Err(), o.Part.Err())
}

// addChunk adds a chunk to the progress of an export.
func addChunk(p *table.Progress, c *chunk) {
	p.Rows += c.Rows
	addCount(p, "chunks", 1)
	addCount(p, "bytes", int(c.Bytes))
	addCount(p, "pending", c.PendingRows)
	addCount(p, "prepared", c.PreparedRows)
	addCount(p, "torn", len(c.Torn))
	for kind, n := range c.Library {
		addCount(p, kind, n)
	}
}

// Export stores the rows of a table as they are, with the properties and rows of the library, so
// that Import brings back all that the service stores but ETags. It writes compressed chunks of
// lines, a row each, as JSON in which no value or type is lost, and behind each chunk a line of the
// manifest, when the chunk is durable.
//
//	done, err := transfer.Export(ctx, staff, transfer.Folder("backup/staff"), nil)
//
// If Export ended early, another call for the same place continues: it reads what no chunk
// contained when it began. Calls at the same time do no harm, but each of them reads that. A
// finished export stays as it is: export to another place the next time. Export does not go on with
// an export that was damaged, that has no chunk of the last 24 hours, or that is of other
// definitions, and changes nothing of it; see ExportOptions.GoOn.
//
// The rows of a page, up to 1,000, are of one moment; others may be minutes apart, but see
// [Snapshots]. Rows of writes that were under way are exported as they are, and named in the
// manifest.
//
// Progress.Rows are the rows of the export, with those of earlier calls, and Changed those that
// this call has stored. Counts has
//
//   - chunks, and bytes of the chunks, compressed;
//   - pending, commit records with effects that were not executed;
//   - prepared, rows of writes over several partitions that were under way; the manifest lists the
//     first 100 of each chunk;
//   - torn, with [Snapshots], partitions of which not all rows are of one moment: they have more
//     rows than a page, and were written while they were read, or not since the table has the
//     definition. With ExportOptions.Part, and in Progress, those are not counted that an earlier
//     call has begun;
//   - snapshots, 1 if the table has the definition [Snapshots]; else nothing is known but that the
//     rows of a page are of one moment;
//   - ~i, ~c and others, rows of the library, by their kind.
//
// Through is the last partition that is exported with all before it of the part. It is set if
// Concurrency is 1, when a chunk is stored behind it.
//
// Errors:
//   - *table.ValueError and *keys.KeyError for wrong options
//   - *FileError if the place has an export of another table or range, or something else, or was
//     altered
//   - table.ErrExists for an export that stays as it is
//   - *fs.PathError, or table.ErrNotCreated
//   - *table.LimitError for too large chunks
//   - table.ErrRanged for a client whose signature is for a range of keys
//   - errors of a read (see package table)
//
// The progress counts what is stored, also beside an error.
//
// Requests: 1 for each 1,000 rows and 1 for the definitions. To share a large table, 1 or 2 for
// each part that is read by itself, and some to find it, at most 66. For a table with Snapshots, 2
// to 4 more for each partition that does not fit on a page, and up to 1 for each page. Into a
// container, 2 for each chunk, 2 for the beginning of the manifest, and 2 to read it. Idempotent.
func Export(ctx context.Context, t table.Handle, to Place, o *ExportOptions) (_ table.Progress, err error) {
	e := door.Table(t)
	if err := engine.CheckHandle("t", e); err != nil {
		return table.Progress{}, fmt.Errorf("transfer: Export: %w", err)
	}
	ctx, end := e.Span(engine.Enduring(ctx), "Export")
	defer func() { end(err) }()
	if o == nil {
		o = &ExportOptions{}
	}
	x := &export{table: e, to: to, opt: *o, pacer: pace.New(o.Rate)}
	x.opt.ChunkBytes, x.opt.Concurrency = cmp.Or(o.ChunkBytes, 16<<20), cmp.Or(o.Concurrency, 4)
	if err = x.run(ctx); err != nil {
		err = fmt.Errorf("transfer: Export %s: %w", e.Name, err)
	}
	return x.progress, err
}

// export is a call of Export in progress.
type export struct {
	table *engine.Table
	to    Place
	opt   ExportOptions
	pacer *pace.Limit

	stamps *stamps // nil without snapshots

	mu       sync.Mutex
	progress table.Progress
	number   int // of the last chunk
	open     []span
	working  int           // goroutines with a span
	changed  chan struct{} // closed when open or working changes
}

func (x *export) run(ctx context.Context) error {
	if x.to == nil {
		return &table.ValueError{Field: "to", Reason: "is nil; give a Folder or a Container"}
	}
	if err := x.opt.check(); err != nil {
		return err
	}
	whole, err := spanOf(x.opt.Partitions)
	if err != nil {
		return err
	}
	m, err := x.begin(ctx, whole)
	if err != nil {
		return err
	}
	part, err := spanOf(x.opt.Part)
	if err != nil {
		return err
	}
	part = part.intersect(whole)
	if m.header.Consistency == byPartition {
		addCount(&x.progress, "snapshots", 1)
		s := stampsOf(x.table)
		x.stamps = &s
	}
	for i := range m.chunks {
		addChunk(&x.progress, &m.chunks[i])
	}
	x.number = m.lastNumber()
	x.open, x.changed = gaps(part, m.spans()), make(chan struct{})
	g, gctx := errgroup.WithContext(ctx)
	for range x.opt.Concurrency {
		g.Go(func() error { return x.work(gctx) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if x.opt.Part.IsSet() {
		return nil
	}
	return x.checkComplete(ctx)
}

// checkComplete reads the manifest again, and fails if rows are missing in it: an export is not to
// be found incomplete when it is needed.
func (x *export) checkComplete(ctx context.Context) error {
	m, err := readManifest(ctx, x.to)
	if err == nil && m == nil {
		err = errNoFile(x.to, ManifestName)
	}
	if err != nil {
		return err
	}
	pieces, err := m.pieces()
	delete(x.progress.Counts, "torn")
	delete(x.progress.Counts, "snapshots")
	if m.header.Consistency == byPartition {
		addCount(&x.progress, "snapshots", 1)
		addCount(&x.progress, "torn", torn(pieces))
	}
	return err
}

// begin returns the manifest of the place, and writes its first line if there is none.
func (x *export) begin(ctx context.Context, whole span) (*manifest, error) {
	h := header{Format: format, Table: x.table.Name, Begun: x.table.Options.Now().UTC(), Whole: whole, Entities: x.opt.Entities, Consistency: byPage}
	m, err := readManifest(ctx, x.to)
	switch {
	case err != nil && err != error(errTorn):
		return nil, err
	case m != nil && !m.header.sameWork(h):
		return nil, wrongManifest(fmt.Sprintf("is of an export of table %q and another range or other rows, or of another table; export to another place", m.header.Table))
	case m != nil && m.header.Begun.Before(exports.Oldest(ctx)):
		return nil, wrongManifest(fmt.Sprintf("is of an export of %v, from before the job", m.header.Begun.Format(time.DateTime)))
	case m != nil:
		return m, x.checkGoesOn(ctx, m)
	}
	c, err := catalogueOf(ctx, x.table)
	if err != nil {
		return nil, err
	}
	if c != nil && !x.opt.Entities { // whose derived rows are not there
		if h.Catalogue, err = c.line(nil); err != nil {
			return nil, err
		}
	}
	if c != nil {
		if of, err := catalogue.Decode(c.stored()); err == nil && of.Stamps() != "" {
			h.Consistency = byPartition
		}
	}
	line, err := sealed(&h)
	if err != nil {
		return nil, err
	}
	return &manifest{header: h}, x.to.add(ctx, ManifestName, line)
}

// work exports spans until there are no more.
func (x *export) work(ctx context.Context) error {
	for {
		s, any, err := x.take(ctx)
		if err != nil || !any {
			return err
		}
		err = x.exportSpan(ctx, s)
		x.release()
		if err != nil {
			return err
		}
	}
}

// take returns a span to work on, and waits for one as long as others may divide theirs.
func (x *export) take(ctx context.Context) (s span, any bool, err error) {
	for {
		x.mu.Lock()
		if len(x.open) > 0 {
			s, x.open = x.open[0], x.open[1:]
			x.working++
			x.mu.Unlock()
			return s, true, nil
		}
		over, changed := x.working == 0, x.changed
		x.mu.Unlock()
		if over {
			return s, false, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s, false, ctx.Err()
		}
	}
}

// notify wakes those that wait. x.mu is held.
func (x *export) notify() {
	close(x.changed)
	x.changed = make(chan struct{})
}

func (x *export) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.working--
	x.notify()
}

// wanted reports whether others wait for a span.
func (x *export) wanted() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.open) == 0 && x.working < x.opt.Concurrency
}

// exportSpan exports the rows of a span, or of the part that it keeps when others want to work on
// the rest.
func (x *export) exportSpan(ctx context.Context, s span) error {
	w := newChunkWriter(s.From, x.now())
	w.entities = x.opt.Entities
	if x.stamps != nil {
		w.snapshots = &snapshotReader{stamps: *x.stamps}
		before, err := w.snapshots.begin(ctx, s)
		if err != nil {
			return err
		}
		w.Before = before
	}
	divides, pages := true, 0
	for at := s; ; {
		next, err := x.readInto(ctx, at, w, func() bool {
			pages++
			return divides && pages >= fewPages && x.wanted()
		})
		if err != nil {
			return err
		}
		if next == nil {
			return x.store(ctx, w, s.To)
		}
		at.From = *next
		if x.isFull(w) && w.Rows > 0 {
			if err := x.store(ctx, w, &at.From); err != nil {
				return err
			}
			w = w.next(at.From, x.now())
		}
		if divides && pages >= fewPages && x.wanted() {
			lower, err := x.divide(ctx, at)
			if err != nil {
				return err
			}
			divides, pages = !lower.sameEnd(at), 0
			s.To, at.To = lower.To, lower.To
		}
	}
}

// isFull reports whether a chunk is to be stored before it goes on.
func (x *export) isFull(w *chunkWriter) bool {
	return w.plain >= x.opt.ChunkBytes || x.opt.ChunkTime > 0 && x.now().Sub(w.Begun) >= x.opt.ChunkTime
}

// fewPages is how many pages of a span are read before it is divided: to divide costs some
// requests, and what is left of a small one is read sooner.
const fewPages = 3

// readInto adds rows of a span to a chunk, until the chunk is full, divide says behind a page that
// the span is to be divided, or there are no more; next is where to go on, nil at the end.
func (x *export) readInto(ctx context.Context, s span, w *chunkWriter, divide func() bool) (next *place, err error) {
	var page []*row // with snapshots: some of its rows may have to be read again
	rows := 0
	var bad error
	err = readSpan(ctx, x.table, s, func(r *row) bool {
		rows++
		if w.snapshots == nil {
			bad = w.add(r)
		} else {
			page = append(page, r)
		}
		return bad == nil
	}, func(more bool) bool {
		bad = x.pacer.Spend(ctx, rows)
		if bad == nil && w.snapshots != nil {
			next, bad = w.addPage(ctx, page, more)
		}
		divides := divide()
		if more && next == nil && rows > 0 && w.Rows > 0 && (x.isFull(w) || divides) {
			at := behind(w.last)
			next = &at
		}
		page, rows = page[:0], 0
		return bad == nil && next == nil
	})
	if err == nil && x.table.Ranged() {
		err = table.ErrRanged
	}
	if err = cmp.Or(bad, err); err != nil || next != nil {
		return next, err
	}
	return nil, w.endPartition(ctx, s.To)
}

// divide gives away the upper half of a span, if it can be divided, and returns the lower one.
func (x *export) divide(ctx context.Context, s span) (lower span, err error) {
	at, is, err := x.middle(ctx, s)
	if err != nil || !is {
		return s, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open = append(x.open, span{at, s.To})
	x.notify()
	return span{s.From, &at}, nil
}

// middle returns a place in the middle of a span: between two partitions, or else in the only one.
func (x *export) middle(ctx context.Context, s span) (p place, is bool, err error) {
	pk := s.From.pk
	of := split.Span{From: split.Behind(pk)}
	if s.To != nil {
		of.To = s.To.pk
		if s.To.rk != "" {
			of.To = split.Behind(s.To.pk)
		}
	}
	if of.To == "" || keys.Compare(of.From, of.To) < 0 {
		first, found, err := x.first(ctx, of)
		if err != nil {
			return p, false, err
		}
		if found {
			of.From = first
			all, _, err := split.Halves(ctx, of, x.first)
			if err != nil {
				return p, false, err
			}
			if len(all) == 2 {
				first = all[1].From
			}
			return place{pk: first}, true, nil
		}
	}
	if x.stamps != nil { // a partition is read by one reader
		return p, false, nil
	}
	of = split.Span{Within: &pk, From: s.From.rk}
	if s.To != nil && s.To.pk == pk {
		of.To = s.To.rk
	}
	all, _, err := split.Halves(ctx, of, x.first)
	if err != nil || len(all) < 2 {
		return p, false, err
	}
	return place{pk, all[1].From}, true, nil
}

// first returns the first key of a span that a row has.
func (x *export) first(ctx context.Context, of split.Span) (key string, found bool, err error) {
	s := span{From: place{pk: of.From}}
	switch {
	case of.Within != nil:
		s = span{place{*of.Within, of.From}, &place{pk: split.Behind(*of.Within)}}
		if of.To != "" {
			s.To = &place{*of.Within, of.To}
		}
	case of.To != "":
		s.To = &place{pk: of.To}
	}
	if s.isEmpty() {
		return "", false, nil
	}
	k, found, err := x.table.FirstKey(ctx, s.filters()[0])
	if of.Within != nil {
		return k.RowKey(), found, err
	}
	return k.PartitionKey(), found, err
}

func (x *export) now() time.Time { return x.table.Options.Now().UTC() }

// store stores a chunk that ends before a place, and then its line.
func (x *export) store(ctx context.Context, w *chunkWriter, end *place) error {
	x.mu.Lock()
	x.number++
	number := x.number
	x.mu.Unlock()
	var err error
	if w.After, err = w.snapshots.stampAt(ctx, end); err != nil {
		return err
	}
	content, err := w.finish(number, end, x.now())
	if err != nil {
		return err
	}
	line, err := sealed(&w.chunk)
	if err != nil {
		return err
	}
	if err := x.to.put(ctx, w.Name, content); err != nil {
		return fmt.Errorf("chunk %s: %w", w.Name, err)
	}
	if err := x.to.add(ctx, ManifestName, line); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	addChunk(&x.progress, &w.chunk)
	x.progress.Changed += w.Rows
	through := w.through
	if pk := w.last.PartitionKey(); w.last != (keys.Key{}) && (end == nil || end.pk != pk) {
		through = &pk
	}
	if x.opt.Concurrency == 1 && through != nil {
		x.progress.Through = keys.Raw(*through, "")
	}
	if x.opt.Progress != nil {
		x.opt.Progress(copyOf(x.progress))
	}
	return nil
}
