package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// CopyBlobs copies the blobs of package largeentity that the entities of an export or of a table
// link, from one place to another: the container of the values, or a folder or container beside an
// export. The names of the blobs stay, so the table that is brought back must have its name, too.
//
//	at, photos := transfer.Folder("backup/staff"), transfer.Container(acc.Blobs().NewContainerClient("photos"), "", nil)
//	_, err := transfer.CopyBlobs(ctx, transfer.Exported(at), photos, at, nil) // a backup, behind Export
//	_, err = transfer.CopyBlobs(ctx, transfer.Exported(at), at, photos, nil)  // a restore
//
// Each blob is compared with the length and the SHA-256 hash that its entity has, before it is
// stored. A blob never changes, so one that is there, with this length, is not read again: a copy
// that ended early is repeated as a whole, and a place can have the blobs of many exports. A blob
// that was replaced since the export is lost, unless largeentity.Options.LeaveToSweep leaves it for
// a day: make the copy right behind the export.
//
// Progress.Rows are the blobs that entities link, Changed those that were stored, and Faults those
// that are lost: they are not there ([fs.ErrNotExist]), or are not what their entity says
// (table.ErrAltered). Counts has "same", which were there already, and "bytes" of those that were
// copied.
//
// CopyBlobs uses Concurrency (4 by default), Skip and Progress of the pass, which may be nil. Skip
// gets the error of a lost blob, with the key of the entity, or of the row in which a write that is
// under way has prepared it; false ends the copy.
//
// Errors: *table.ValueError for a nil argument and a wrong pass; *FileError and table.ErrIncomplete
// for an export; table.ErrNotCreated; *fs.PathError; table.ErrAltered if the container to copy to
// has another blob of a name; errors of a read (see package table). The report counts what is done,
// also beside an error.
//
// Requests:
//   - those that read the rows
//   - for each blob, 1 to see whether it is there
//   - for each that is not, 1 to read it and 1 to store it; of 8 MiB or more 2 for each 8 MiB, and
//     2 more
//
// Memory: 24 MiB for each blob that is copied at the same time, more for one of more than 400 GB.
// Idempotent.
func CopyBlobs(ctx context.Context, rows Source, from, to Place, pass *table.Pass) (_ table.Progress, err error) {
	if pass == nil {
		pass = &table.Pass{}
	}
	c := &blobCopy{from: from, to: to, pass: pass, copies: map[string]bool{}}
	err = door.CheckPass(pass, "Concurrency", "Skip")
	switch {
	case err != nil:
	case rows == nil:
		err = errNilSource("rows")
	case from == nil || to == nil:
		err = &table.ValueError{Field: "from or to", Reason: "is nil; give a Folder or a Container"}
	default:
		err = c.run(engine.Enduring(ctx), rows)
	}
	if err != nil {
		err = fmt.Errorf("transfer: CopyBlobs: %w", err)
	}
	return c.progress, err
}

// link is what an entity says of a blob.
type link struct {
	entity      keys.Key
	name        string
	size        int64
	sum         string // SHA-256 in hexadecimal digits
	contentType string
}

// linksOf returns the blobs that an entity links: for each a property with its name, beside those
// of its length and its hash.
func linksOf(r *row) (all []*link) {
	find := func(name string) edm.Value { return stored.Find(r.columns, name) }
	for _, c := range r.columns {
		field, is := strings.CutSuffix(c.Name, "Blob")
		if !is || c.Value.Kind != edm.String || c.Value.S == "" {
			continue
		}
		_, _, _, isName := blobs.Split(c.Value.S)
		size, isSize := find(field + "Size").Whole()
		sum := find(field + "SHA256").S
		hash, err := hex.DecodeString(sum)
		if !isName || !isSize || size < 0 || size > mostBlob || err != nil || len(hash) != sha256.Size {
			continue // a text that looks like a name
		}
		all = append(all, &link{r.key, c.Value.S, size, strings.ToLower(sum), find(field + "Type").S})
	}
	return all
}

// blobCopy is a call of CopyBlobs in progress.
type blobCopy struct {
	from, to Place
	pass     *table.Pass

	mu       sync.Mutex
	progress table.Progress
	copies   map[string]bool // blobs that are being copied
}

// begin reports whether a blob is to be copied: two rows may link it, an entity and what is
// prepared in its place.
func (c *blobCopy) begin(b *link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.copies[b.name] {
		return false
	}
	c.copies[b.name] = true
	return true
}

func (c *blobCopy) end(b *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.copies, b.name)
}

func (c *blobCopy) run(ctx context.Context, rows Source) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(cmp.Or(c.pass.Concurrency, 4))
	for r, err := range rowsOf(ctx, rows) {
		if err == nil {
			err = gctx.Err()
		}
		if err != nil {
			return cmp.Or(g.Wait(), err)
		}
		if !isEntity(r) && !strings.HasPrefix(r.key.RowKey(), reserved.Prepared) { // what a write that is under way has prepared may become an entity
			continue
		}
		for _, b := range linksOf(r) {
			if c.begin(b) {
				g.Go(func() error {
					defer c.end(b)
					return c.copy(gctx, b)
				})
			}
		}
	}
	return g.Wait()
}

// copy copies a blob, unless it is there.
func (c *blobCopy) copy(ctx context.Context, b *link) error {
	there, err := c.to.has(ctx, b)
	switch {
	case err != nil:
		return fmt.Errorf("blob %s: %w", b.name, err)
	case there:
		c.count(table.Progress{Rows: 1}, "same", 1)
		return nil
	}
	checked := &checkedReader{of: b, hash: sha256.New()}
	from, err := c.from.open(ctx, b)
	if err == nil {
		defer from.Close()
		checked.from = from
		err = c.to.create(ctx, b, checked)
	} else {
		checked.failed = err
	}
	switch {
	case errors.Is(checked.failed, fs.ErrNotExist), checked.failed == table.ErrAltered:
		return c.lost(b, checked.failed)
	case err != nil:
		return fmt.Errorf("blob %s: %w", b.name, err)
	}
	c.count(table.Progress{Rows: 1, Changed: 1}, "bytes", int(b.size))
	return nil
}

// count adds to the progress, and n to one of its counts.
func (c *blobCopy) count(done table.Progress, name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tabledoor.AddProgress(&c.progress, done)
	addCount(&c.progress, name, n)
	if c.pass.Progress != nil {
		c.pass.Progress(copyOf(c.progress))
	}
}

// lost counts a blob that is lost. The error ends the copy.
func (c *blobCopy) lost(b *link, err error) error {
	c.count(table.Progress{Rows: 1, Faults: 1}, "", 0)
	c.mu.Lock()
	defer c.mu.Unlock()
	err = fmt.Errorf("blob %s: %w", b.name, err)
	if c.pass.Skip == nil || c.pass.Skip(b.entity, err) {
		return nil
	}
	return err
}

// checkedReader reads a blob, and fails at its end if it is not what the entity says.
type checkedReader struct {
	from   io.Reader
	of     *link
	hash   hash.Hash
	n      int64
	failed error // of the blob that is read
}

// Read implements io.Reader.
func (r *checkedReader) Read(p []byte) (n int, err error) {
	n, err = r.from.Read(p)
	r.hash.Write(p[:n])
	r.n += int64(n)
	switch {
	case r.n > r.of.size || err == io.EOF && (r.n < r.of.size || hex.EncodeToString(r.hash.Sum(nil)) != r.of.sum):
		err = table.ErrAltered
		r.failed = err
	case err != io.EOF:
		r.failed = err
	}
	return n, err
}
