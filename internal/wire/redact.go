package wire

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// transportError is a *url.Error without its URL, which may hold a signature.
type transportError struct {
	op, host string
	err      error
}

func (e *transportError) Error() string { return e.op + " " + e.host + ": " + e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }
func (e *transportError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.err, &t) && t.Timeout()
}

// Redact returns err without the query of any URL in it: that of a failed request with a shared access signature holds the
// signature. The host and the cause stay.
func Redact(err error) error {
	var ue *url.Error
	if !errors.As(err, &ue) {
		return err
	}
	host := ""
	if u, perr := url.Parse(ue.URL); perr == nil {
		host = u.Host
	}
	return &transportError{ue.Op, host, Redact(ue.Err)}
}

// RedactPolicy applies Redact to every call of a client.
type RedactPolicy struct{}

// Do implements policy.Policy.
func (RedactPolicy) Do(r *policy.Request) (*http.Response, error) {
	resp, err := r.Next()
	if err != nil {
		err = Redact(err)
	}
	return resp, err
}
