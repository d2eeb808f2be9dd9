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
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(out.Body), endOfBody{o.bodyErr}))
	return resp, nil
}

// endOfBody is the end of a response's body: an error, or io.EOF if the error is nil.
type endOfBody struct{ err error }

func (e endOfBody) Read([]byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	return 0, io.EOF
}
