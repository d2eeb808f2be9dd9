package whole_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// The signature of TestSignatures, and parts of it that no text may contain.
const signed = "?sv=2019-02-02&se=2030-01-01&sig=Y2FuYXJ5%2Bc2VjcmV0%2FdG9rZW4%3D"

var canaries = []string{"Y2FuYXJ5", "c2VjcmV0", "dG9rZW4"}

// echoes are answers that repeat the URL of their request.
var echoes = []struct {
	name   string
	answer func(r *http.Request, u string) (*http.Response, error)
}{
	{"redirect", func(r *http.Request, u string) (*http.Response, error) {
		return echo(r, 302, "text/html", "<a href='"+u+"'>", "Location", "https://proxy/login?return="+url.QueryEscape(u))
	}},
	{"page", func(r *http.Request, u string) (*http.Response, error) {
		return echo(r, 200, "text/html", "<html>"+u+"</html>")
	}},
	{"gateway's page", func(r *http.Request, u string) (*http.Response, error) {
		return echo(r, 502, "text/html", "<html>"+html.EscapeString(u)+"</html>", "X-Ms-Request-Id", "1")
	}},
	{"firewall's page", func(r *http.Request, u string) (*http.Response, error) {
		decoded, err := url.QueryUnescape(u)
		if err != nil {
			return nil, err
		}
		return echo(r, 403, "text/plain", "denied: "+decoded+" "+url.QueryEscape(url.QueryEscape(u)))
	}},
	{"refusal in XML", func(r *http.Request, u string) (*http.Response, error) {
		return echo(r, 400, "application/xml", "<Error><Code>InvalidUri</Code><Message>"+html.EscapeString(u)+"</Message></Error>", "X-Ms-Request-Id", "1")
	}},
	{"refusal in JSON", func(r *http.Request, u string) (*http.Response, error) {
		return echo(r, 403, "application/json", `{"odata.error":{"code":"AuthorizationFailure","message":{"value":"`+u+`"}}}`, "X-Ms-Request-Id", "1")
	}},
	{"code", func(r *http.Request, u string) (*http.Response, error) {
		return echo(r, 400, "application/json", `{"odata.error":{"code":"`+u+`","message":{"value":"x"}}}`, "X-Ms-Request-Id", "1", "X-Ms-Error-Code", u)
	}},
	{"headers", func(r *http.Request, u string) (*http.Response, error) {
		return echo(r, 200, "application/xml", "<a/>", "X-Ms-Request-Id", "1", "ETag", u, "Last-Modified", u, "Date", u, "X-Ms-Approximate-Messages-Count", u, "X-Ms-Blob-Sequence-Number", u, "X-Ms-Creation-Time", u)
	}},
	{"body", func(r *http.Request, u string) (*http.Response, error) {
		return echo(r, 200, "application/xml", `<QueueMessagesList><QueueMessage><InsertionTime>`+html.EscapeString(u)+`</InsertionTime></QueueMessage></QueueMessagesList>`, "X-Ms-Request-Id", "1")
	}},
	{"body in JSON", func(r *http.Request, u string) (*http.Response, error) {
		return echo(r, 200, "application/json", `{"value":[{"PartitionKey":"`+u+`","RowKey":1,"Timestamp":"`+u+`","Age@odata.type":"Edm.Int64","Age":"`+u+`"}]}`, "X-Ms-Request-Id", "1")
	}},
	{"refused operation", func(r *http.Request, u string) (*http.Response, error) {
		body := "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n" +
			`{"odata.error":{"code":"` + u + `","message":{"value":"0:` + u + `"}}}` + "\r\n--c--\r\n--b--\r\n"
		return echo(r, 202, "multipart/mixed; boundary=b", body, "X-Ms-Request-Id", "1")
	}},
	{"status line", func(r *http.Request, u string) (*http.Response, error) {
		resp, err := echo(r, 502, "text/html", "")
		resp.Status = "502 cannot reach " + u
		return resp, err
	}},
	{"cut body", func(r *http.Request, u string) (*http.Response, error) {
		resp, err := echo(r, 200, "application/json", "", "X-Ms-Request-Id", "1", "ETag", "1")
		resp.Body, resp.ContentLength = io.NopCloser(iotest.ErrReader(errors.New("read "+u+": reset"))), 100
		return resp, err
	}},
	{"transport", func(_ *http.Request, u string) (*http.Response, error) {
		return nil, &url.Error{Op: "Get", URL: u, Err: fmt.Errorf("malformed HTTP response %q", u)}
	}},
	{"proxy's transport", func(_ *http.Request, u string) (*http.Response, error) {
		return nil, fmt.Errorf("proxy: %w", &url.Error{Op: "Get", URL: "https://proxy/login?return=" + url.QueryEscape(u), Err: errors.New("refused " + url.QueryEscape(url.QueryEscape(u)))})
	}},
}

func echo(r *http.Request, status int, contentType, body string, headers ...string) (*http.Response, error) {
	h := http.Header{"Content-Type": {contentType}}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{Status: fmt.Sprint(status, " ", http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
}

// texts keeps what a program could print: errors, lines of a log, and spans.
type texts struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (x *texts) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all.Write(p)
}

func (x *texts) provider() tracing.Provider {
	span := func() tracing.Span {
		return tracing.NewSpan(tracing.SpanImpl{
			End:           func() {},
			SetAttributes: func(all ...tracing.Attribute) { fmt.Fprintln(x, "attributes", all) },
			AddEvent:      func(name string, all ...tracing.Attribute) { fmt.Fprintln(x, "event", name, all) },
			SetStatus:     func(_ tracing.SpanStatus, text string) { fmt.Fprintln(x, "status", text) },
		})
	}
	return tracing.NewProvider(func(string, string) tracing.Tracer {
		return tracing.NewTracer(func(ctx context.Context, name string, o *tracing.SpanOptions) (context.Context, tracing.Span) {
			fmt.Fprintln(x, "span", name, o.Attributes)
			return ctx, span()
		}, &tracing.TracerOptions{SpanFromContext: func(context.Context) tracing.Span { return span() }})
	}, nil)
}

// chain prints an error and all errors in it.
func (x *texts) chain(err error) {
	if err == nil {
		return
	}
	fmt.Fprintf(x, "error %T %v\n%+v\n", err, err, err)
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		fmt.Fprintln(x, "code", re.ErrorCode)
		x.response(re.RawResponse)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		x.chain(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			x.chain(err)
		}
	}
}

// response prints a response, its request, and the response that caused it.
func (x *texts) response(resp *http.Response) {
	if resp == nil {
		return
	}
	body, err := runtime.Payload(resp)
	fmt.Fprintln(x, "response", resp.Status, resp.Header, resp.Trailer, string(body), err)
	if r := resp.Request; r != nil {
		fmt.Fprintln(x, "request", r.Method, r.URL, r.RequestURI, r.Header)
		x.response(r.Response)
	}
}

// leak returns the first line with a part of the signature.
func (x *texts) leak() string {
	for line := range strings.Lines(x.all.String()) {
		if slices.ContainsFunc(canaries, func(c string) bool { return strings.Contains(line, c) }) {
			return line
		}
	}
	return ""
}

// signedServices are the SDK's clients of addresses with signatures.
type signedServices struct{ options azcore.ClientOptions }

func (s signedServices) Tables() *aztables.ServiceClient {
	c, err := aztables.NewServiceClientWithNoCredential("https://a.table.core.windows.net/"+signed, &aztables.ClientOptions{ClientOptions: s.options})
	if err != nil {
		panic(err)
	}
	return c
}

func (s signedServices) Queues() *azqueue.ServiceClient {
	c, err := azqueue.NewServiceClientWithNoCredential("https://a.queue.core.windows.net/"+signed, &azqueue.ClientOptions{ClientOptions: s.options})
	if err != nil {
		panic(err)
	}
	return c
}

func (s signedServices) Blobs() *service.Client {
	c, err := service.NewClientWithNoCredential("https://a.blob.core.windows.net/"+signed, &service.ClientOptions{ClientOptions: s.options})
	if err != nil {
		panic(err)
	}
	return c
}

// transportFunc is a transport.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

// TestSignatures: no error, no error in an error, no response in it, and no log or span of the library contains a signature, which the
// answer to a request repeats. With the clients of an account, no span of the SDK does.
func TestSignatures(t *testing.T) {
	t.Parallel()
	methods := maps.Clone(readMethods)
	for _, m := range outageMethods {
		methods[m.name] = m.kit
	}
	methods["Worker"] = func(ctx context.Context, x *outage) error { return x.worker(ctx) }
	names := slices.Sorted(maps.Keys(methods))
	for i, e := range echoes {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			for j, method := range names {
				if method != "Worker" && (i+j)%testkit.Sample(1) != 0 {
					continue
				}
				for _, path := range clientPaths {
					var kept texts
					synctest.Test(t, func(t *testing.T) {
						filled := newOutageOf(t, storagetest.New(nil), storagetest.New(nil))
						common := table.Common{Logger: slog.New(slog.NewTextHandler(&kept, &slog.HandlerOptions{Level: slog.LevelDebug})), Tracing: kept.provider()}
						o := azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: 1}, Transport: transportFunc(func(r *http.Request) (*http.Response, error) { return e.answer(r, r.URL.String()) })}
						var s services = signedServices{o}
						if path == "account" {
							o.TracingProvider = kept.provider()
							endpoint := func(service string) string { return "https://a." + service + ".core.windows.net/" + signed }
							acc, err := account.FromSAS(account.Endpoints{Table: endpoint("table"), Queue: endpoint("queue"), Blob: endpoint("blob")}, &account.Options{Client: o})
							fatal(t, err)
							s = acc
						}
						x := openOutage(t, s, common)
						x.jones, x.photo, x.common, x.queues = filled.jones, filled.photo, common, s
						err := methods[method](t.Context(), x)
						kept.chain(err)
					})
					if leak := kept.leak(); leak != "" {
						t.Errorf("%s, clients of the %s: got %.400q; want no signature", method, path, leak)
					}
				}
			}
		})
	}
}

// worker runs a worker for a minute.
func (x *outage) worker(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	o := &eventual.WorkerOptions{Common: x.common}
	w, err := bareworker.New(x.queues.Queues().NewQueueClient("notifications"), x.queues.Queues().NewQueueClient("poison"), nil, o)
	if err != nil {
		return err
	}
	return errors.Join(w.Ensure(ctx), w.Run(ctx))
}
