package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"regexp"

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
// host and the cause stay. A response that repeats the URL stays as well, without its signatures: its status and code tell what is known of
// a request.
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

// signature matches the signature of a URL, also of one that was escaped, as often as may be.
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

// withoutEcho removes signatures from the text of an error that contains a response.
func withoutEcho(err error, re *azcore.ResponseError) error {
	if !signature.MatchString(err.Error()) {
		return err
	}
	clean := redactResponse(re)
	if err == error(re) {
		return clean
	}
	return &signatureError{text: RedactText(err.Error()), of: err, err: clean}
}

// redactResponse returns a copy of an error, and of its response, without signatures.
func redactResponse(re *azcore.ResponseError) *azcore.ResponseError {
	clean := &azcore.ResponseError{ErrorCode: RedactText(re.ErrorCode), StatusCode: re.StatusCode}
	if re.RawResponse == nil {
		return clean
	}
	resp := *re.RawResponse
	resp.Status, resp.Header = RedactText(resp.Status), resp.Header.Clone()
	for _, values := range resp.Header {
		for i := range values {
			values[i] = RedactText(values[i])
		}
	}
	body, err := runtime.Payload(re.RawResponse)
	if err != nil {
		body = nil
	}
	resp.Body = io.NopCloser(bytes.NewReader([]byte(RedactText(string(body)))))
	clean.RawResponse = &resp
	return clean
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
