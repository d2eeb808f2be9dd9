package bloblog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// client sends the requests of writers. It sends a write once: the SDK would repeat an append after
// a lost response.
type client struct {
	container *container.Client
	opt       engine.Options
}

// result is what is known of a write after its request.
type result struct {
	outcome wire.Outcome
	etag    azcore.ETag // of the blob, if the outcome is wire.Done
	err     error       // of the service or the transport
	shown   error       // err, as callers get it if nothing was changed
}

func (c client) result(call *wire.Call, etag *azcore.ETag, err error) result {
	r := result{err: call.CheckWrite(string(blobs.Deref(etag)), err)}
	if r.outcome = call.Outcome(r.err); r.outcome == wire.Done {
		r.etag = *etag
		return r
	}
	r.shown = refusal(call, r.err)
	return r
}

// create creates an empty blob, unless one has the name.
func (c client) create(ctx context.Context, n name, metadata map[string]*string) result {
	var call wire.Call
	resp, err := c.blob(n).Create(c.write(ctx, &call), &appendblob.CreateOptions{
		Metadata:         metadata,
		HTTPHeaders:      &blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain; charset=utf-8")},
		AccessConditions: blobs.IfNew(),
	})
	return c.result(&call, resp.ETag, err)
}

// append stores a block at a position, if the blob ends there and has the ETag. A request that
// arrives late, when the writer has given it up, therefore changes nothing that the writer relies
// on.
func (c client) append(ctx context.Context, n name, data []byte, position int64, etag azcore.ETag) result {
	var call wire.Call
	resp, err := c.blob(n).AppendBlock(c.write(ctx, &call), streaming.NopCloser(bytes.NewReader(data)), &appendblob.AppendBlockOptions{
		AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &position},
		AccessConditions:               blobs.IfMatch(etag),
	})
	return c.result(&call, resp.ETag, err)
}

// setMetadata replaces the metadata of a blob that has the ETag.
func (c client) setMetadata(ctx context.Context, n name, metadata map[string]*string, etag azcore.ETag) result {
	var call wire.Call
	resp, err := c.blob(n).SetMetadata(c.write(ctx, &call), metadata, &blob.SetMetadataOptions{AccessConditions: blobs.IfMatch(etag)})
	return c.result(&call, resp.ETag, err)
}

// properties are the properties of a stored blob.
type properties struct {
	length int64
	etag   azcore.ETag
	writer string // of the metadata; "" if there is none
}

// properties returns the properties of a blob, for a writer. err is the error of the service or the
// transport; shown is what callers get.
func (c client) properties(ctx context.Context, n name) (p properties, shown, err error) {
	ctx, cancel := engine.Bound(ctx, c.opt.Retry.AttemptTimeout)
	defer cancel()
	var call wire.Call
	resp, err := c.blob(n).GetProperties(call.Read(ctx), nil)
	if err = blobs.CheckLength(&call, resp.ContentLength, call.CheckWrite(string(blobs.Deref(resp.ETag)), err)); err != nil {
		return p, refusal(&call, err), err
	}
	return properties{*resp.ContentLength, *resp.ETag, parseMetadata(resp.Metadata).writer}, nil, nil
}

// contains reports whether a blob contains data at a position, for a writer.
func (c client) contains(ctx context.Context, n name, data []byte, position int64) (_ bool, shown, err error) {
	ctx, cancel := engine.Bound(ctx, c.opt.Retry.AttemptTimeout)
	defer cancel()
	var call wire.Call
	resp, err := c.blob(n).DownloadStream(call.Read(ctx), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: position, Count: int64(len(data))}})
	if err = call.Check(err); err != nil {
		return false, refusal(&call, err), err
	}
	defer resp.Body.Close()
	part := make([]byte, 32<<10)
	for len(data) > 0 {
		read, err := io.ReadFull(resp.Body, part[:min(len(part), len(data))])
		if err != nil {
			return false, refusal(&call, err), err
		}
		if !bytes.Equal(part[:read], data[:read]) {
			return false, nil, nil
		}
		data = data[read:]
	}
	return true, nil, nil
}

func (c client) blob(n name) *appendblob.Client { return c.container.NewAppendBlobClient(n.String()) }

func (c client) write(ctx context.Context, call *wire.Call) context.Context {
	return blobs.Write(ctx, call, c.opt.Retry.AttemptTimeout)
}

// Blob is a blob of a log. It may be of another program that uses such names, as the service does
// for its own logs in container $logs.
type Blob struct {
	Name   string // such as orders/2014/07/31/1800/000001.log
	Source string
	Hour   time.Time // the beginning of the hour of its records, in UTC
	Number int       // the number of the blob in the hour; starts with 1, or with 0 for the service's own logs

	// No record is earlier than First or later than Last. While the blob is written, and after a
	// crash of its writer, First is the beginning of the hour, and Last is zero. Both are zero if
	// another program has stored the blob without them.
	First, Last time.Time

	Size int64 // in bytes, when it was listed
}

// Blobs yields the blobs of a source that may contain records with from ≤ time < to, in the order
// of their names: by hour and number. A zero from is no bound, and a zero to is an hour from now by
// the reader's clock. Blobs whose names have another form are left out, and so are blobs of other
// sources, such as a/b for a.
//
// Errors: *table.ValueError and *table.LimitError for a source that is invalid (see [Log.Writer]),
// and for a time outside the years 1 to 9999; table.ErrNotCreated; table.ErrUnreachable;
// *azcore.ResponseError.
//
// Requests: 1 for each 1,000 blobs of the source in the hour, if from and to are in one hour. Else
// for each day of the range up to 10 days, for each month up to 10 months, for each year up to 10
// years, or for all of the source and the sources below it, such as a/b for a; at least 1 for each
// of them.
func (l *Log[T]) Blobs(ctx context.Context, source string, from, to time.Time) iter.Seq2[*Blob, error] {
	return func(yield func(*Blob, error) bool) {
		if err := l.check(); err != nil {
			yield(nil, fmt.Errorf("bloblog: Blobs %q: %w", source, err))
			return
		}
		l.core.eachBlob(ctx, source, from, to, yield)
	}
}

func (c *core) eachBlob(ctx context.Context, source string, from, to time.Time, yield func(*Blob, error) bool) {
	for b, err := range c.blobs(ctx, source, from, c.endBefore(to)) {
		if err != nil {
			yield(nil, fmt.Errorf("bloblog: Blobs %q: %w", source, err))
			return
		}
		if !yield(b.public(), nil) {
			return
		}
	}
}

func (b listed) public() *Blob {
	return &Blob{b.name.String(), b.name.source, b.name.hour, b.name.number, b.metadata.first, b.metadata.last, b.length}
}

// endBefore returns the end of a range, an hour from now for a zero time.
func (c *core) endBefore(to time.Time) time.Time {
	if to.IsZero() {
		to = c.client.opt.Now().Add(time.Hour)
	}
	return to
}

// blobs is Blobs for other methods. It takes no zero to.
func (c *core) blobs(ctx context.Context, source string, from, to time.Time) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		for _, err := range []error{c.check(), checkSource(source), checkTime("from", from), checkTime("to", to.Add(-1))} {
			if err != nil {
				yield(listed{}, err)
				return
			}
		}
		if !from.Before(to) {
			return
		}
		first, last := hourOf(from), hourOf(to.Add(-1))
		for _, prefix := range prefixes(source, first, last) {
			for b, err := range c.client.list(ctx, prefix) {
				switch {
				case err != nil:
					yield(listed{}, err)
					return
				case b.name.source != source, b.name.hour.Before(first), b.name.hour.After(last), !b.metadata.overlaps(from, to):
				case !yield(b, nil):
					return
				}
			}
		}
	}
}

// maxPrefixes is the most lists that are made instead of one of a longer time.
const maxPrefixes = 10

// prefixes returns what the names of the blobs of the hours from first to last begin with, as few
// as possible, unless they are the beginnings of many other names.
func prefixes(source string, first, last time.Time) []string {
	if first.Equal(last) {
		return []string{name{source: source, hour: first}.prefix()}
	}
	for _, unit := range []struct {
		layout              string
		years, months, days int
	}{{"2006/01/02", 0, 0, 1}, {"2006/01", 0, 1, 0}, {"2006", 1, 0, 0}} {
		var all []string
		at, _ := time.Parse(unit.layout, first.Format(unit.layout))
		for ; !at.After(last) && len(all) <= maxPrefixes; at = at.AddDate(unit.years, unit.months, unit.days) {
			all = append(all, source+"/"+at.Format(unit.layout)+"/")
		}
		if len(all) <= maxPrefixes {
			return all
		}
	}
	return []string{source + "/"}
}

// listed is a blob of a list.
type listed struct {
	name     name
	metadata metadata
	etag     azcore.ETag
	length   int64
}

// list yields the blobs of logs whose names begin with a prefix, in the order of their names.
func (c client) list(ctx context.Context, prefix string) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		for b, err := range blobs.List(ctx, c.container, prefix, &c.opt, refusal) {
			if err != nil {
				yield(listed{}, err)
				return
			}
			if n, is := parseName(b.Name); is && !yield(listed{n, parseMetadata(b.Metadata), b.ETag, b.Length}, nil) {
				return
			}
		}
	}
}
