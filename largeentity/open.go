package largeentity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Open returns a reader of a value. The reader compares the length and the SHA-256 hash of a blob before it returns io.EOF: if they
// are not those of the upload, its last Read fails with ErrAltered. What was read before that must not be used. If a response
// breaks off, the reader continues with another request. Close the reader.
//
// Errors, also of the reader: ErrNoValue for the zero Blob; ErrBlobNotFound; ErrAltered; ErrForeignBlob for a blob of another table;
// ErrContainerNotFound; table.ErrUnreachable; the service's own error. Requests: none for a value in the entity itself, else 1.
func (s *Store) Open(ctx context.Context, b Blob) (io.ReadCloser, error) {
	r, err := s.open(ctx, b, 0, b.size, true)
	if err != nil {
		return nil, fmt.Errorf("largeentity: Open: %w", err)
	}
	return r, nil
}

// OpenRange is Open for count bytes from an offset on. The reader checks the length of the blob, but not its hash, for which it would
// have to read the whole blob. Errors: those of Open; *table.ValueError for a range that is not within the value.
func (s *Store) OpenRange(ctx context.Context, b Blob, offset, count int64) (io.ReadCloser, error) {
	r, err := s.open(ctx, b, offset, count, false)
	if err != nil {
		return nil, fmt.Errorf("largeentity: OpenRange: %w", err)
	}
	return r, nil
}

// ReadAll returns a value whose length is at most limit bytes, once it is checked. Errors: those of Open; *table.LimitError.
func (s *Store) ReadAll(ctx context.Context, b Blob, limit int64) ([]byte, error) {
	if b.size > limit {
		return nil, fmt.Errorf("largeentity: ReadAll: %w", &table.LimitError{Field: "limit", Limit: "bytes of the value", Got: int(b.size), Max: int(limit)})
	}
	r, err := s.open(ctx, b, 0, b.size, true)
	if err == nil {
		defer r.Close()
		var data bytes.Buffer
		data.Grow(int(min(b.size, 1<<20))) // the stated length may be wrong
		if _, err = data.ReadFrom(r); err == nil {
			return data.Bytes(), nil
		}
	}
	return nil, fmt.Errorf("largeentity: ReadAll: %w", err)
}

func (s *Store) open(ctx context.Context, b Blob, offset, count int64, whole bool) (io.ReadCloser, error) {
	switch {
	case !b.set:
		return nil, ErrNoValue
	case offset < 0 || count < 0 || offset > b.size || count > b.size-offset:
		return nil, &table.ValueError{Field: "range", Reason: fmt.Sprintf("is %d bytes from %d on; the value has %d", count, offset, b.size)}
	case b.name == "":
		return io.NopCloser(strings.NewReader(b.data[offset : offset+count])), nil
	}
	if n, ok := parseName(b.name); !ok || n.table != s.table {
		return nil, condition(ErrForeignBlob, "blob %s is not of the table %s", b.name, s.table)
	}
	d := newDownload(ctx, s.client, b, offset, count, whole)
	if count == 0 && !whole {
		return d, nil
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	return d, nil
}

// maxReads is how often Open reads an entity whose value is replaced meanwhile.
const maxReads = 4

// Open reads an entity by its key and opens one of its values:
//
//	photo, e, err := largeentity.Open(ctx, staff, photos, key, func(e *Employee) largeentity.Blob { return e.Photo })
//
// If the blob does not exist because a concurrent writer has replaced the value since the entity was read, Open reads the entity
// again, 3 times at most. The entity is also returned if only the value cannot be opened.
//
// Errors: those of [table.Table.Get] and of [Store.Open]; ErrForeignBlob also for a blob of another partition. 2 requests, and 2
// more after each such replacement.
func Open[T any](ctx context.Context, t *table.Table[T], s *Store, k keys.Key, value func(*T) Blob) (io.ReadCloser, *table.Entity[T], error) {
	var err error
	switch {
	case t.Engine() == nil:
		err = table.ErrorOf(engine.CheckHandle("t", nil))
	case s == nil:
		err = &table.ValueError{Field: "s", Reason: "is nil"}
	case value == nil:
		err = &table.ValueError{Field: "value", Reason: "is nil; give a function that returns the field"}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("largeentity: Open: %w", err)
	}
	for read := 1; ; read++ {
		e, err := t.Get(ctx, k)
		if err != nil {
			return nil, nil, fmt.Errorf("largeentity: Open: %w", err)
		}
		b := value(&e.Value)
		if n, ok := parseName(b.name); ok && n.partition != k.PartitionKey() {
			return nil, e, fmt.Errorf("largeentity: Open %v: %w", k, condition(ErrForeignBlob, "blob %s is of the partition %s", b.name, edm.Quote(n.partition)))
		}
		r, err := s.open(ctx, b, 0, b.size, true)
		switch {
		case err == nil:
			return r, e, nil
		case !errors.Is(err, ErrBlobNotFound) || read == maxReads:
			return nil, e, fmt.Errorf("largeentity: Open %v: %w", k, err)
		}
	}
}
