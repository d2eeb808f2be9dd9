package storagetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Do executes a request in this process: Service is a policy.Transporter, for the option Transport of the SDK's clients.
func (s *Service) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = readBody(r.Body, r.ContentLength); err != nil {
			return nil, err
		}
	}
	o := s.handle(r, body)
	if err := o.wait(r.Context()); err != nil {
		return nil, err
	}
	out := o.response
	resp := &http.Response{
		StatusCode: out.Status, Status: fmt.Sprintf("%d %s", out.Status, http.StatusText(out.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: out.Header, Request: r,
		ContentLength: -1, TransferEncoding: []string{"chunked"},
	}
	if n, err := strconv.ParseInt(out.Header.Get("Content-Length"), 10, 64); err == nil {
		resp.ContentLength, resp.TransferEncoding = n, nil
	}
	b := &responseBody{end: o.bodyErr}
	b.Reset(out.Body)
	resp.Body = b
	return resp, nil
}

// responseBody is the body of a response. It ends with an error, or with io.EOF if the error is nil.
type responseBody struct {
	bytes.Reader
	end error
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && b.end != nil {
		err = b.end
	}
	return n, err
}

// WriteTo implements io.WriterTo.
func (b *responseBody) WriteTo(w io.Writer) (int64, error) {
	n, err := b.Reader.WriteTo(w)
	if err == nil {
		err = b.end
	}
	return n, err
}

func (*responseBody) Close() error { return nil }
