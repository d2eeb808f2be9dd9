package bloblog

import (
	"context"
	"errors"
	"io"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// stream reads a blob up to the length that it has when it is opened. If a response breaks off, the stream continues with another
// request, without a condition: an append changes the ETag of the blob, but not the bytes that it has. A blob that is deleted ends
// where it was deleted.
type stream struct {
	ctx    context.Context
	client client
	name   name
	offset int64
	length int64 // -1 until the first response

	body   io.ReadCloser // nil if there is no response
	cancel context.CancelCauseFunc
	call   wire.Call
}

func newStream(ctx context.Context, c client, n name) *stream {
	return &stream{ctx: ctx, client: c, name: n, length: -1}
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (n int, err error) {
	err = s.client.opt.Retry.Repeat(s.ctx, engine.Log{}, func() (again bool, err error) {
		if s.offset == s.length {
			return false, io.EOF
		}
		if s.body == nil {
			if err := s.open(); err != nil {
				return false, err // the SDK has repeated the request
			}
			if s.offset == s.length {
				return false, io.EOF
			}
		}
		stop := blobs.EndIfIdle(s.cancel, s.client.opt.ReadTimeout)
		n, err = s.body.Read(p[:min(int64(len(p)), s.length-s.offset)])
		stop()
		s.offset += int64(n)
		if n > 0 {
			return false, nil // an error comes again
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		err = refusal(&s.call, err)
		s.Close()
		return s.ctx.Err() == nil, err
	})
	return n, err
}

// open sends a request for the rest of the blob.
func (s *stream) open() error {
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.call, s.cancel = wire.Call{}, cancel
	var o blob.DownloadStreamOptions
	if s.length >= 0 {
		o.Range = blob.HTTPRange{Offset: s.offset, Count: s.length - s.offset}
	}
	stop := blobs.EndIfIdle(s.cancel, s.client.opt.ReadTimeout)
	resp, err := s.client.blob(s.name).DownloadStream(s.call.Read(ctx), &o)
	stop()
	if err = s.call.Check(err); s.length < 0 {
		err = blobs.CheckLength(&s.call, resp.ContentLength, err)
	}
	switch {
	case blobs.IsGone(err), bloberror.HasCode(err, bloberror.InvalidRange): // the latter after a deletion and another creation
		s.length = s.offset
		cancel(nil)
		return nil
	case err != nil:
		err = refusal(&s.call, err)
		cancel(nil)
		return err
	}
	s.body = resp.Body
	if s.length < 0 {
		s.length = *resp.ContentLength
	}
	return nil
}

// Close ends the response.
func (s *stream) Close() {
	if s.body != nil {
		s.body.Close()
		s.body = nil
		s.cancel(nil)
	}
}
