package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// Call records one call through the SDK: its response, and how far its request got.
type Call struct {
	// MaxBody is the largest request body in bytes; 0 means no limit. Clients with the Probe
	// policies refuse a larger body with a *BodyError and send nothing.
	MaxBody int64

	ctx   context.Context // of the request
	resp  *http.Response
	probe probe
	kept  []byte // the body of the response to a transaction, before the SDK consumes it

	match   azcore.ETag // of the small call
	options aztables.DeleteEntityOptions
}

// Read returns the context for a call that may be repeated. The client's retry options stay in
// force.
func (c *Call) Read(ctx context.Context) context.Context {
	c.probe.outer = policy.WithCaptureResponse(c.begin(ctx), &c.resp)
	return c.probe.outer
}

// Write returns the context for a call that changes something, with a single attempt that ends
// after timeout. The SDK would repeat a write after a lost response and report the error of the
// second attempt, such as 'exists' for a row that the first attempt inserted.
func (c *Call) Write(ctx context.Context, timeout time.Duration) context.Context {
	c.probe.outer = once(c.Read(ctx), timeout, c.keep)
	return c.probe.outer
}

func (c *Call) begin(ctx context.Context) context.Context {
	c.ctx, c.probe.max = ctx, c.MaxBody
	c.probe.ends, _ = ctx.Value(endKey{}).(Ending)
	return context.WithValue(ctx, probeKey{}, &c.probe)
}

// keep is called for the response to each attempt. The SDK reads the response to a transaction from
// its body, which is then empty if a policy of the client has replaced the body that can be read
// again.
func (c *Call) keep(resp *http.Response, err error) (again bool) {
	c.kept = nil
	if err == nil && resp != nil && resp.StatusCode == http.StatusAccepted {
		c.kept, _ = runtime.Payload(resp) // a cut body fails the check of the whole response
	}
	return false
}

func once(ctx context.Context, timeout time.Duration, shouldRetry func(*http.Response, error) bool) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1, TryTimeout: timeout, ShouldRetry: shouldRetry})
}

// TakesRequests reports whether Exchange can replace calls like this one, which went through the
// SDK. The client must have the Probe policies. The SDK would name the span of a client that traces
// after the small call: hasSpan reports that the library has a span around the call, so that the
// SDK begins none.
func (c *Call) TakesRequests(hasSpan bool) bool {
	return c.probe.entered.Load() && (hasSpan || !c.probe.changed.Load())
}

// Client is what Exchange needs of a client of the SDK.
type Client interface {
	DeleteEntity(ctx context.Context, partitionKey, rowKey string, o *aztables.DeleteEntityOptions) (aztables.DeleteEntityResponse, error)
}

// Exchange sends a request of the library by a small call of the SDK, and returns the error that
// the SDK's own call would return. A request that changes something has a single attempt that ends
// after timeout; see [Call.Write].
func (c *Call) Exchange(ctx context.Context, client Client, q *Request, timeout time.Duration) error {
	// What the SDK gets in place of the response is not for a caller that captures responses.
	ctx, c.probe.request = policy.WithCaptureResponse(c.begin(ctx), &c.resp), q
	c.probe.reply = http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}
	c.match, c.options = standInMatch, aztables.DeleteEntityOptions{IfMatch: &c.match}
	if q.Method != http.MethodGet {
		ctx = once(ctx, timeout, nil)
	}
	_, err := client.DeleteEntity(ctx, standInKey, standInKey, &c.options)
	c.resp = c.probe.response.Load()
	switch {
	case !c.Put() && (err == nil || errors.As(err, new(*azcore.ResponseError))): // the service has answered the small call
		return ErrTap
	case err == nil && c.resp != nil && !q.succeeded(c.resp):
		return runtime.NewResponseError(c.resp)
	}
	return err
}

// Put reports whether the request of Exchange took the place of the SDK's. If not, it was not sent.
func (c *Call) Put() bool { return c.probe.put.Load() }

// HasProbe reports whether the client has the Probe policies.
func (c *Call) HasProbe() bool { return c.probe.entered.Load() }

// Status returns the status of the response, 0 if there is none.
func (c *Call) Status() int {
	if c.resp == nil {
		return 0
	}
	return c.resp.StatusCode
}

// URL returns the address of the request, with its signature, "" if there is no response.
func (c *Call) URL() string {
	if c.resp == nil || c.resp.Request == nil {
		return ""
	}
	return c.resp.Request.URL.String()
}

// RequestID returns the service's ID of the request, "" if there is no response.
func (c *Call) RequestID() string {
	return c.Header("X-Ms-Request-Id")
}

// RequestSize returns the length of the request body in bytes, 0 if there is no response.
func (c *Call) RequestSize() int64 {
	if c.resp == nil || c.resp.Request == nil {
		return 0
	}
	return c.resp.Request.ContentLength
}

// SignedForPartitions reports whether a shared access signature limits the request to a range of
// PartitionKeys. The service omits rows outside the range from lists and reports no error. It is
// false if there is no response.
func (c *Call) SignedForPartitions() bool {
	if c.resp == nil || c.resp.Request == nil {
		return false
	}
	q := c.resp.Request.URL.Query()
	return q.Has("sig") && (q.Get("spk") != "" || q.Get("epk") != "")
}

// SignedRows returns the first and the last RowKey to which a shared access signature limits the
// request, "" for no bound. limited reports whether there is a bound.
func (c *Call) SignedRows() (first, last string, limited bool) {
	if c.resp == nil || c.resp.Request == nil {
		return "", "", false
	}
	q := c.resp.Request.URL.Query()
	first, last = q.Get("srk"), q.Get("erk")
	return first, last, q.Has("sig") && (first != "" || last != "")
}

// PartResponse returns a response with the given status, for one operation of a transaction: the
// headers belong to the whole response, and the body is empty. It has no signatures.
func (c *Call) PartResponse(status int) *http.Response {
	return &http.Response{
		StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: redactHeader(c.resp.Header), Body: http.NoBody, Request: redactRequest(c.resp.Request),
	}
}

// Header returns a header of the response, "" if there is none.
func (c *Call) Header(name string) string {
	if c.resp == nil {
		return ""
	}
	return c.resp.Header.Get(name)
}

// Date returns when the service has answered, by its own clock, the zero time if the response does
// not say.
func (c *Call) Date() time.Time {
	t, _ := http.ParseTime(c.Header("Date"))
	return t
}

// Body returns the body of the response as the service sent it. The values that the SDK decodes
// have lost the decimal point of whole doubles. A byte order mark in front of it is left out, as by
// the SDK.
func (c *Call) Body() ([]byte, error) {
	if c.resp == nil {
		return nil, errNoResponse
	}
	if err := c.Check(nil); err != nil {
		return nil, err
	}
	body, err := runtime.Payload(c.resp)
	if err == nil && len(body) == 0 {
		body = c.kept
	}
	return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), err
}

// NotServiceError reports a response that is not the service's response to the request, so that the
// outcome is unknown. For example, a transport that follows redirects repeats a POST as a GET and
// returns the response to the GET.
type NotServiceError struct {
	Status int
	Reason string
}

func (e *NotServiceError) Error() string {
	return fmt.Sprintf("%s; its status is %d", e.Reason, e.Status)
}

// isForeignRefusal reports whether a response of status 4xx refuses the request by a code in its
// body, and has none of the service's headers. The service's refusal of a wrong signature has only
// x-ms-error-code; refusals by Cosmos DB have only x-ms-request-id. A refusal without a code is not
// believed anyway; see [Call.Outcome].
func isForeignRefusal(resp *http.Response, err error) bool {
	var re *azcore.ResponseError
	h := resp.Header
	return errors.As(err, &re) && re.ErrorCode != "" && h.Get("X-Ms-Request-Id") == "" && h.Get("X-Ms-Version") == "" && h.Get("X-Ms-Error-Code") == ""
}

// Check returns err, the result of the call, or a *NotServiceError if the response belongs to
// another request, or reports success or a refusal without the headers of the service, as the page
// of a captive portal does. Every response passes it before it is believed, and every error before
// it is returned, logged or put into a span: it has no signatures; see [Redact].
func (c *Call) Check(err error) error {
	switch {
	case c.resp == nil:
	case c.resp.Request != nil && c.resp.Request.Response != nil: // net/http sets the latter only if a redirect caused the request
		return &NotServiceError{c.resp.StatusCode, "the request was redirected, and the response is to another request"}
	case c.resp.StatusCode < 300 && c.resp.Header.Get("X-Ms-Request-Id") == "" && c.resp.Header.Get("X-Ms-Version") == "":
		return &NotServiceError{c.resp.StatusCode, "the response has neither x-ms-request-id nor x-ms-version, so it is not the service's"}
	case c.resp.StatusCode/100 == 4 && isForeignRefusal(c.resp, err):
		return &NotServiceError{c.resp.StatusCode, "the refusal has none of x-ms-request-id, x-ms-version and x-ms-error-code, so it is not the service's"}
	}
	return Redact(err)
}

// CheckWrite is Check for a write whose successful response has an ETag.
func (c *Call) CheckWrite(etag string, err error) error {
	if err = c.Check(err); err == nil && etag == "" {
		return &NotServiceError{c.Status(), "the response has no ETag, so it is not the service's"}
	}
	return err
}

// Outcome is what is known of a write after its call has returned.
type Outcome int

const (
	Done    Outcome = iota // the service applied the write
	Refused                // the service refused the write
	NotSent                // the request did not reach the network
	Unknown                // the write may have been applied or not
)

// Outcome returns the outcome of a write from the error that [Call.Check] returned. Whatever is not
// certain is Unknown: the service may have applied a write that it answers with 500 or a timeout,
// and a refusal without an error code may come from a proxy.
func (c *Call) Outcome(err error) Outcome {
	if err == nil {
		return Done
	}
	var foreign *NotServiceError
	if errors.As(err, &foreign) {
		return Unknown
	}
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		if re.ErrorCode == "" && re.StatusCode != http.StatusRequestEntityTooLarge {
			return Unknown
		}
		return StatusOutcome(re.StatusCode)
	}
	if c.probe.entered.Load() && !c.probe.sent.Load() || c.probe.request != nil && !c.Put() {
		return NotSent
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return NotSent
	}
	return Unknown
}

// StatusOutcome returns the outcome of an operation that failed with an HTTP status.
func StatusOutcome(status int) Outcome {
	switch {
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests:
		return Unknown
	case status >= 400 && status < 500, status == http.StatusNotImplemented:
		return Refused
	}
	return Unknown
}

// Unreached reports whether err, the error of a request that ran with ctx, means that the service
// was not reached, was unavailable, or denied access. Such an error says nothing about the row, and
// the same request may succeed later. Unreached is false if the caller ended ctx, since the service
// might have answered.
func Unreached(ctx context.Context, err error) bool {
	var re *azcore.ResponseError
	var large *BodyError
	switch {
	case err == nil, errors.As(err, &large), errors.Is(err, ErrCosmosDB):
		return false
	case errors.As(err, &re):
		return unavailable(re)
	}
	return ctx.Err() == nil || context.Cause(ctx) == ErrRequestTimeout // otherwise the caller has ended ctx
}

// unavailable reports whether a response is from a service that is down or denies access, or from a
// proxy: the service sends an error code with every refusal.
func unavailable(re *azcore.ResponseError) bool {
	switch s := re.StatusCode; {
	case s == http.StatusRequestEntityTooLarge: // a proxy's limit, which the same request will exceed again
		return false
	case s == http.StatusNotImplemented: // the service does not have the operation; without an error code, a proxy does not
		return re.ErrorCode == ""
	case s >= 500, s >= 300 && s < 400 && s != http.StatusNotModified, re.ErrorCode == "":
		return true
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusProxyAuthRequired, s == http.StatusRequestTimeout, s == http.StatusTooManyRequests:
		return true
	}
	switch re.ErrorCode {
	case "InvalidAuthenticationInfo", "TableBeingDeleted", "QueueBeingDeleted", "AccountBeingCreated":
		return true
	}
	return false
}

// ErrRequestTimeout is the cause of a context that ended because a request exceeded the library's
// timeout, and not because the caller ended the context.
var ErrRequestTimeout = errors.New("the service did not answer in the time that one request may take")

// Unreached is the function [Unreached] for the error of this call.
func (c *Call) Unreached(err error) bool { return Unreached(c.ctx, err) }

// IsNil reports whether x is nil or holds a nil pointer. An interface with a nil pointer is the
// usual result of passing a variable that was never set.
func IsNil(x any) bool {
	v := reflect.ValueOf(x)
	return x == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

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

// Redact returns err without the URLs in its text, since the URL of a failed request may contain a
// shared access signature. The host and the cause stay. A response that repeats the URL stays as
// well, without its signatures: its status and code say what is known of a request.
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

// hasSignature reports whether a text contains a signature. Few texts contain its first letters,
// which are found faster.
func hasSignature(text string) bool {
	return strings.Contains(strings.ToLower(text), "sig") && signature.MatchString(text)
}

// RedactText removes signatures from a text.
func RedactText(text string) string { return signature.ReplaceAllString(text, "${1}REDACTED") }

// withoutSignature removes signatures from the error text of a caller's transport.
func withoutSignature(err error) error {
	if err == nil || !hasSignature(err.Error()) {
		return err
	}
	e := &signatureError{text: RedactText(err.Error()), of: err}
	for e.err = errors.Unwrap(err); e.err != nil && hasSignature(e.err.Error()); {
		e.err = errors.Unwrap(e.err)
	}
	return e
}

// withoutEcho removes signatures from an error that contains a response, and from the response:
// from its request, and from what the response repeats of it.
func withoutEcho(err error, re *azcore.ResponseError) error {
	if !hasSigned(re.RawResponse) && !hasSignature(err.Error()) {
		return err
	}
	clean := redactResponse(re)
	if err == error(re) {
		return clean
	}
	return &signatureError{text: RedactText(err.Error()), of: err, err: clean}
}

// hasSigned reports whether the URL of the request of a response has a signature, or of an unknown
// request, a header of the response.
func hasSigned(resp *http.Response) bool {
	switch {
	case resp == nil:
		return false
	case resp.Request != nil && resp.Request.URL != nil:
		return hasSignature(resp.Request.URL.RawQuery)
	}
	for _, values := range resp.Header {
		if slices.ContainsFunc(values, hasSignature) {
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

// redactRequest returns a copy of a request without the signatures in its URL and its headers, and
// without the response that caused it.
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

// RedactSpans returns a provider whose spans contain no signatures: the SDK puts the text of each
// error into them, and that of a response that repeats its URL.
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
