package wire

import (
	"errors"
	"net/url"
	"regexp"
)

// transportError is a *url.Error without its URL.
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

// Redact returns err without the URLs in its text, since the URL of a failed request may contain a shared access signature. The
// host and the cause stay.
func Redact(err error) error {
	if err == nil {
		return nil
	}
	var ue *url.Error
	if !errors.As(err, &ue) {
		return withoutSignature(err)
	}
	host := ""
	if u, perr := url.Parse(ue.URL); perr == nil {
		host = u.Host
	}
	return &transportError{ue.Op, host, Redact(ue.Err)}
}

// signatureError is an error from whose text signatures were removed.
type signatureError struct {
	text string
	err  error // the first cause without a signature in its text
}

func (e *signatureError) Error() string { return e.text }
func (e *signatureError) Unwrap() error { return e.err }

var signature = regexp.MustCompile(`(?i)(\bsig(nature)?(=|%3d|":"))[^&\s"']*`)

// withoutSignature removes signatures from the error text of a caller's transport.
func withoutSignature(err error) error {
	if err == nil || !signature.MatchString(err.Error()) {
		return err
	}
	e := &signatureError{text: signature.ReplaceAllString(err.Error(), "${1}REDACTED")}
	for e.err = errors.Unwrap(err); e.err != nil && signature.MatchString(e.err.Error()); {
		e.err = errors.Unwrap(e.err)
	}
	return e
}
