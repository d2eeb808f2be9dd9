package wire

import "fmt"

// ForeignError is a response that is not the service's response to the request that was sent, so that it tells nothing of the
// outcome: a transport that follows redirects repeats a POST as a GET, and returns what that has found.
type ForeignError struct {
	Status int
	Reason string
}

func (e *ForeignError) Error() string { return fmt.Sprintf("%s; its status is %d", e.Reason, e.Status) }

// Check returns err, the result of the call, or a *ForeignError if the response answers another request than the one that was
// sent.
func (c *Call) Check(err error) error {
	// The client sets a request's Response only if the request follows from a redirect.
	if c.resp != nil && c.resp.Request != nil && c.resp.Request.Response != nil {
		return &ForeignError{c.resp.StatusCode, "the request was redirected, and the response is to another request"}
	}
	return err
}

// CheckWrite is Check for a write of one row that leaves an ETag.
func (c *Call) CheckWrite(etag string, err error) error {
	if err = c.Check(err); err == nil && etag == "" {
		return &ForeignError{c.Status(), "the response has no ETag, so it is not the service's"}
	}
	return err
}

// CheckBare is Check for a request whose successful response has neither a body nor an ETag: the service's own headers tell it from
// another's.
func (c *Call) CheckHeaders(err error) error {
	if err = c.Check(err); err == nil && c.resp != nil && c.resp.Header.Get("X-Ms-Request-Id") == "" && c.resp.Header.Get("X-Ms-Version") == "" {
		return &ForeignError{c.Status(), "the response has neither x-ms-request-id nor x-ms-version, so it is not the service's"}
	}
	return err
}
