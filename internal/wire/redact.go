package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
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
// host and the cause stay. A response that repeats the URL stays as well, without its signatures: its status and code say what is
// known of a request.
func Redact(err error) error {
	if err == nil {
		return nil
	}
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		return withoutEcho(err, re)
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
	of   error
	err  error // the first cause without a signature in its text
}

func (e *signatureError) Error() string        { return e.text }
func (e *signatureError) Unwrap() error        { return e.err }
func (e *signatureError) Is(target error) bool { return errors.Is(e.of, target) }

// signature matches the signature of a URL, also of a URL that was escaped several times.
var signature = regexp.MustCompile(`(?i)(sig(?:nature)?(?:=|%(?:25)*3d|&#61;|":\s*"))[^&\s"'<>]*`)

// RedactText removes signatures from a text.
func RedactText(text string) string { return signature.ReplaceAllString(text, "${1}REDACTED") }

// withoutSignature removes signatures from the error text of a caller's transport.
func withoutSignature(err error) error {
	if err == nil || !signature.MatchString(err.Error()) {
		return err
	}
	e := &signatureError{text: RedactText(err.Error()), of: err}
	for e.err = errors.Unwrap(err); e.err != nil && signature.MatchString(e.err.Error()); {
		e.err = errors.Unwrap(e.err)
	}
	return e
}

// withoutEcho removes signatures from an error that contains a response, and from the response: from its request, and from what the
// response repeats of it.
func withoutEcho(err error, re *azcore.ResponseError) error {
	if !hasSigned(re.RawResponse) && !signature.MatchString(err.Error()) {
		return err
	}
	clean := redactResponse(re)
	if err == error(re) {
		return clean
	}
	return &signatureError{text: RedactText(err.Error()), of: err, err: clean}
}

// hasSigned reports whether the URL of the request of a response has a signature, or of an unknown request, a header of the response.
func hasSigned(resp *http.Response) bool {
	switch {
	case resp == nil:
		return false
	case resp.Request != nil && resp.Request.URL != nil:
		return signature.MatchString(resp.Request.URL.RawQuery)
	}
	for _, values := range resp.Header {
		if slices.ContainsFunc(values, signature.MatchString) {
			return true
		}
	}
	return false
}

// redactResponse returns a copy of an error, and of its response, without signatures.
func redactResponse(re *azcore.ResponseError) *azcore.ResponseError {
	clean := &azcore.ResponseError{ErrorCode: RedactText(re.ErrorCode), StatusCode: re.StatusCode}
	if re.RawResponse == nil {
		return clean
	}
	resp := *re.RawResponse
	resp.Status, resp.Header, resp.Trailer = RedactText(resp.Status), redactHeader(resp.Header), redactHeader(resp.Trailer)
	resp.Request = redactRequest(resp.Request)
	body, err := runtime.Payload(re.RawResponse)
	if err != nil {
		body = nil
	}
	resp.Body = io.NopCloser(bytes.NewReader([]byte(RedactText(string(body)))))
	clean.RawResponse = &resp
	return clean
}

// redactRequest returns a copy of a request without the signatures in its URL and its headers, and without the response that caused it.
func redactRequest(r *http.Request) *http.Request {
	if r == nil {
		return nil
	}
	clean := r.WithContext(r.Context()) // a copy
	clean.Header, clean.Response = redactHeader(r.Header), nil
	if r.URL != nil {
		u := *r.URL
		u.RawQuery = RedactText(u.RawQuery)
		clean.URL = &u
	}
	return clean
}

// redactHeader returns a copy of headers without signatures.
func redactHeader(h http.Header) http.Header {
	h = h.Clone()
	for _, values := range h {
		for i := range values {
			values[i] = RedactText(values[i])
		}
	}
	return h
}

// RedactSpans returns a provider whose spans contain no signatures: the SDK puts the text of each error into them, and that of a response
// that repeats its URL.
func RedactSpans(p tracing.Provider) tracing.Provider {
	return tracing.NewProvider(func(module, version string) tracing.Tracer {
		t := p.NewTracer(module, version)
		if !t.Enabled() {
			return t
		}
		return tracing.NewTracer(func(ctx context.Context, name string, o *tracing.SpanOptions) (context.Context, tracing.Span) {
			ctx, span := t.Start(ctx, name, o)
			return ctx, redactSpan(span)
		}, &tracing.TracerOptions{SpanFromContext: func(ctx context.Context) tracing.Span { return redactSpan(t.SpanFromContext(ctx)) }})
	}, nil)
}

func redactSpan(s tracing.Span) tracing.Span {
	return tracing.NewSpan(tracing.SpanImpl{
		End:           s.End,
		SetAttributes: s.SetAttributes,
		AddEvent:      s.AddEvent,
		SetStatus:     func(code tracing.SpanStatus, text string) { s.SetStatus(code, RedactText(text)) },
	})
}
