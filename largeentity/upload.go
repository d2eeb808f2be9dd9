package largeentity

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Upload reads a value to its end and stores it, so that the entity with the key owner can have it.
// The entity gets the value when a write stores the returned Blob:
//
//	photo, err := photos.Upload(ctx, staff, staff.Key(jones), file, "image/jpeg")
//	e, err := staff.Update(ctx, staff.Key(jones), func(e *Employee) error { e.Photo = photo; return nil })
//
// contentType defaults to application/octet-stream. The value can be stored for half of
// Options.Grace, in an entity of the same partition. A value that no entity gets is deleted by
// [Values.Sweep]. Blobs never change: another value is another blob.
//
// Errors:
//   - the error of r
//   - io.ErrNoProgress for an r that returns neither bytes nor an error 100 times
//   - *keys.KeyError for an invalid owner
//   - *table.LimitError for more than 50,000 blocks, and for a PartitionKey that is too long for
//     the name of a blob
//   - *table.ValueError for a nil r, and for a content type that no header can have
//   - *table.DefinitionError for a handle without the values
//   - table.ErrNotCreated
//   - table.ErrUnreachable
//   - *azcore.ResponseError
//
// After an error, nothing is stored that Sweep does not find, but for blocks that the service
// itself deletes within a week.
//
// Requests: none for a value of at most Options.InlineUpTo bytes, 1 for a value of at most
// Options.BlockSize, else 1 for each block and 1 to commit them. Memory: see
// Options.BlocksInFlight.
func (v *Values[T]) Upload(ctx context.Context, t *table.Table[T], owner keys.Key, r io.Reader, contentType string) (Blob, error) {
	of, err := v.binding(t)
	if err != nil {
		return Blob{}, err
	}
	return of.Upload(ctx, owner, r, contentType)
}

func (v *values) Upload(ctx context.Context, owner keys.Key, r io.Reader, contentType string) (Blob, error) {
	b, err := v.upload(ctx, owner, r, contentType)
	if err != nil {
		return Blob{}, fmt.Errorf("largeentity: Upload %v: %w", owner, err)
	}
	return b, nil
}

const defaultType = "application/octet-stream"

func (s *store) upload(ctx context.Context, owner keys.Key, r io.Reader, contentType string) (Blob, error) {
	contentType = cmp.Or(contentType, defaultType)
	switch {
	case r == nil:
		return Blob{}, &table.ValueError{Field: "r", Reason: "is nil"}
	case len(contentType) > 255 || strings.Trim(contentType, " ") != contentType || strings.ContainsFunc(contentType, func(c rune) bool { return c < ' ' || c > '~' }):
		return Blob{}, &table.ValueError{Field: "contentType", Reason: "is not 1 to 255 printable ASCII characters"}
	}
	if err := errors.Join(owner.Err(), ctx.Err()); err != nil {
		return Blob{}, err
	}
	n, err := s.newName(owner.PartitionKey())
	if err != nil {
		return Blob{}, err
	}
	first, ended, err := readBlock(ctx, r, nil, max(s.opt.BlockSize, s.opt.InlineUpTo+1))
	if err == nil && !ended {
		r, ended, err = peek(ctx, r)
	}
	if err != nil {
		return Blob{}, err
	}
	b := Blob{set: true, size: int64(len(first)), contentType: contentType}
	if ended && len(first) <= s.opt.InlineUpTo {
		b.data = string(first)
		return b, nil
	}
	b.name = n.String()
	u := &upload{store: s, name: b.name, facts: facts{contentType: contentType}}
	if ended {
		u.add(sha256.New(), first)
		err = s.client.put(ctx, u.name, first, u.facts)
	} else {
		err = u.blocks(ctx, r, first)
	}
	if err != nil {
		return Blob{}, err
	}
	b.size, b.sum = u.facts.size, u.facts.sum
	return b, nil
}

// maxEmptyReads is how often in a row a reader may return neither bytes nor an error.
const maxEmptyReads = 100

// readBlock reads up to most bytes into buf, whose content it replaces and which grows as it needs.
// ended reports the end of r. It does not use io.ReadFull, whose io.ErrUnexpectedEOF may come from
// r: then the value is cut off, and has not ended.
func readBlock(ctx context.Context, r io.Reader, buf []byte, most int) (_ []byte, ended bool, err error) {
	buf = buf[:0]
	for empty := 0; len(buf) < most; {
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(max(2*cap(buf), 64<<10), most))
			copy(grown, buf)
			buf = grown
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), most)])
		buf = buf[:len(buf)+n]
		empty++
		if n > 0 {
			empty = 0
		}
		switch {
		case err == io.EOF:
			return buf, true, nil
		case err != nil:
			return nil, false, err
		case empty == maxEmptyReads:
			return nil, false, io.ErrNoProgress
		}
	}
	return buf, false, nil
}

// peek reports whether r is at its end, so that a value of exactly one block takes one request.
// rest is r as it was before.
func peek(ctx context.Context, r io.Reader) (rest io.Reader, ended bool, err error) {
	next, last, err := readBlock(ctx, r, nil, 1)
	rest = bytes.NewReader(next)
	if !last {
		rest = io.MultiReader(rest, r)
	}
	return rest, err == nil && len(next) == 0, err
}

// upload is the upload of one blob.
type upload struct {
	store *store
	name  string
	facts facts
	ids   []string

	cancel context.CancelCauseFunc
	sent   sync.WaitGroup
	slots  chan struct{} // has an element for each block that is being sent
	free   chan []byte   // the buffers that are not in use, nil for a buffer that is not made yet
}

// add counts data.
func (u *upload) add(hash interface {
	io.Writer
	Sum([]byte) []byte
}, data []byte) {
	hash.Write(data)
	u.facts.size += int64(len(data))
	u.facts.sum = hex.EncodeToString(hash.Sum(nil))
}

// blocks stores the first block and the rest of r as blocks, some of them at the same time, and
// commits them.
func (u *upload) blocks(ctx context.Context, r io.Reader, block []byte) (err error) {
	sending, cancel := context.WithCancelCause(ctx)
	u.cancel = cancel
	u.free = make(chan []byte, u.store.opt.BlocksInFlight+1) // the first block comes, too
	u.slots = make(chan struct{}, u.store.opt.BlocksInFlight)
	for range u.store.opt.BlocksInFlight {
		u.free <- nil
	}
	defer func() {
		cancel(nil)
		u.sent.Wait()
	}()
	hash := sha256.New()
	for ended := false; ; {
		if len(block) > 0 {
			u.add(hash, block)
			if err := u.send(sending, block); err != nil {
				return err
			}
		}
		if ended {
			break
		}
		select {
		case block = <-u.free:
		case <-sending.Done():
			return context.Cause(sending)
		}
		if block, ended, err = readBlock(sending, r, block, u.store.opt.BlockSize); err != nil {
			return err
		}
	}
	u.sent.Wait()
	if sending.Err() != nil {
		return context.Cause(sending)
	}
	return u.store.client.commit(ctx, u.name, u.ids, u.facts)
}

// send stores a block in a goroutine, which gives the buffer back. Its error ends the upload.
func (u *upload) send(ctx context.Context, block []byte) error {
	if len(u.ids) == maxBlocks {
		return &table.LimitError{Field: "r", Limit: "blocks of a blob; give a larger Options.BlockSize", Got: maxBlocks + 1, Max: maxBlocks}
	}
	select {
	case u.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	id := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%08d", len(u.ids)))
	u.ids = append(u.ids, id)
	u.sent.Add(1)
	go func() {
		defer u.sent.Done()
		if err := u.store.client.stage(ctx, u.name, id, block); err != nil {
			u.cancel(err)
		}
		<-u.slots
		u.free <- block
	}()
	return nil
}

// Copy stores a copy of a value for the entity with the key owner, in any partition of the table.
// An entity with a value in a blob can move to another partition only with a copy, because the name
// of a blob contains the partition:
//
//	e.Value.Department = "Marketing"
//	if e.Value.Photo, err = photos.Copy(ctx, staff, staff.Key(e.Value), e.Value.Photo); err != nil {
//		return err
//	}
//	return staff.Move(ctx, e)
//
// The copy is like the result of [Values.Upload]: the entity gets it by a write, and [Values.Sweep]
// deletes it if no entity gets it. The write that moves the entity gives the old blob up. The zero
// Blob and a value in the entity itself are returned as they are.
//
// Errors, after which Copy returns b, so that the field of an entity keeps its value:
//   - ErrBlobNotFound
//   - table.ErrAltered
//   - ErrForeignBlob for a blob of another table
//   - *keys.KeyError for an invalid owner
//   - *table.LimitError for a PartitionKey that is too long for the name of a blob
//   - *table.DefinitionError for a handle without the values
//   - table.ErrNotCreated
//   - table.ErrUnreachable
//   - *azcore.ResponseError
//
// Requests: none for a value in the entity itself, else the requests of Open and Upload. The value
// passes through the program, in blocks; see Options.BlocksInFlight.
func (v *Values[T]) Copy(ctx context.Context, t *table.Table[T], owner keys.Key, b Blob) (Blob, error) {
	of, err := v.binding(t)
	if err != nil {
		return b, err
	}
	return of.Copy(ctx, owner, b)
}

func (v *values) Copy(ctx context.Context, owner keys.Key, b Blob) (Blob, error) {
	if b.name == "" {
		return b, nil
	}
	c := b
	r, err := v.open(ctx, b, 0, b.size, true)
	if err == nil {
		defer r.Close()
		c, err = v.upload(ctx, owner, r, b.contentType)
	}
	if err != nil {
		return b, fmt.Errorf("largeentity: Copy to %v: %w", owner, err)
	}
	return c, nil
}
