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
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// BlobOptions are the options of [CopyBlobs]. The zero value copies all blobs.
type BlobOptions struct {
	// Concurrency is how many blobs are copied at the same time. Defaults to 4.
	Concurrency int

	// Lost is called for each blob that is not there ([fs.ErrNotExist]), or is not what its entity says ([ErrAltered]); the key is that of the entity, or of the
	// row in which a write that is under way has prepared it. Progress is called after each blob. No
	// two of these calls overlap, and work waits for them.
	Lost     func(entity keys.Key, blob string, err error)
	Progress func(BlobReport)
}

// BlobReport counts the blobs of a copy.
type BlobReport struct {
	Blobs  int   // that entities link
	Copied int   // of these, that were stored
	Same   int   // that were there already
	Lost   int   // that are not there, or are not what their entity says
	Bytes  int64 // of those that were copied
}

// ErrAltered: a blob is not what its entity says: its length or its hash is another one.
var ErrAltered = errors.New("the blob is not what its entity says: it was altered or cut")

// CopyBlobs copies the blobs of package largeentity that the entities of an export or of a table link, from one place to another: the container of
// the values, or a folder or container beside an export. The names of the blobs stay, so the table that is brought back must have its name, too.
//
//	at, photos := transfer.Folder("backup/staff"), transfer.Container(acc.Container("photos"), "", nil)
//	_, err := transfer.CopyBlobs(ctx, transfer.Exported(at), photos, at, nil) // a backup, behind Export
//	_, err = transfer.CopyBlobs(ctx, transfer.Exported(at), at, photos, nil)  // a restore
//
// Each blob is compared with the length and the SHA-256 hash that its entity has, before it is stored. A blob never changes, so one that is there, with this length,
// is not read again: a copy that ended early is repeated as a whole, and a place can have the blobs of many exports. A blob that was replaced since the export is lost, unless
// largeentity.Options.LeaveToSweep leaves it for a day: make the copy right behind the export.
//
// Errors: *table.ValueError for a nil argument and wrong options; *ManifestError, [ErrIncomplete] and *ChunkError for an export; table.ErrContainerNotFound;
// *fs.PathError; [ErrAltered] if the container to copy to has another blob of a name; errors of a read (see package table). The report counts what is done, also beside an error.
//
// Requests: those that read the rows; for each blob 1 to see whether it is there, and, if it is not, 1 to read it and 1 to store it, or for a blob of 8 MiB or more
// 2 for each 8 MiB and 2 more. Memory: 24 MiB for each blob that is copied at the same time, more for one of more than 400 GB. Idempotent.
func CopyBlobs(ctx context.Context, rows Source, from, to Place, o *BlobOptions) (report BlobReport, err error) {
	if o == nil {
		o = &BlobOptions{}
	}
	c := &blobCopy{from: from, to: to, opt: *o, copies: map[string]bool{}}
	switch {
	case rows == nil:
		err = errNilSource("rows")
	case from == nil || to == nil:
		err = &table.ValueError{Field: "from or to", Reason: "is nil; give a Folder or a Container"}
	case o.Concurrency < 0:
		err = &table.ValueError{Field: "BlobOptions.Concurrency", Reason: "is negative; 0 means 4"}
	default:
		err = c.run(ctx, rows)
	}
	if err != nil {
		err = fmt.Errorf("transfer: CopyBlobs: %w", err)
	}
	return c.report, err
}

// link is what an entity says of a blob.
type link struct {
	entity      keys.Key
	name        string
	size        int64
	sum         string // SHA-256 in hexadecimal digits
	contentType string
}

// linksOf returns the blobs that an entity links: for each a property with its name, beside those of its length and its hash.
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
	opt      BlobOptions

	mu     sync.Mutex
	report BlobReport
	copies map[string]bool // blobs that are being copied
}

// begin reports whether a blob is to be copied: two rows may link it, an entity and what is prepared in its place.
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
	g.SetLimit(cmp.Or(c.opt.Concurrency, 4))
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
		c.count(BlobReport{Blobs: 1, Same: 1})
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
	case errors.Is(checked.failed, fs.ErrNotExist), checked.failed == ErrAltered:
		c.count(BlobReport{Blobs: 1, Lost: 1})
		c.noteLost(b, checked.failed)
		return nil
	case err != nil:
		return fmt.Errorf("blob %s: %w", b.name, err)
	}
	c.count(BlobReport{Blobs: 1, Copied: 1, Bytes: b.size})
	return nil
}

func (c *blobCopy) count(n BlobReport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Blobs += n.Blobs
	c.report.Copied += n.Copied
	c.report.Same += n.Same
	c.report.Lost += n.Lost
	c.report.Bytes += n.Bytes
	if c.opt.Progress != nil {
		c.opt.Progress(c.report)
	}
}

func (c *blobCopy) noteLost(b *link, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opt.Lost != nil {
		c.opt.Lost(b.entity, b.name, err)
	}
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
		err = ErrAltered
		r.failed = err
	case err != io.EOF:
		r.failed = err
	}
	return n, err
}
