package aztablekit_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// transport is a service in memory behind a function, such as a proxy.
type transport struct {
	*storagetest.Service
	between func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error)
}

func (p *transport) Do(r *http.Request) (*http.Response, error) {
	if p.between == nil {
		return p.Service.Do(r)
	}
	return p.between(r, p.Service.Do)
}

// sdkServices are the SDK's clients, made as a program makes them.
type sdkServices struct {
	connection string
	options    azcore.ClientOptions
}

func (s sdkServices) Tables() *aztables.ServiceClient {
	c, err := aztables.NewServiceClientFromConnectionString(s.connection, &aztables.ClientOptions{ClientOptions: s.options})
	if err != nil {
		panic(err)
	}
	return c
}

func (s sdkServices) Queue(name string) *azqueue.QueueClient {
	c, err := azqueue.NewQueueClientFromConnectionString(s.connection, name, &azqueue.ClientOptions{ClientOptions: s.options})
	if err != nil {
		panic(err)
	}
	return c
}

func (s sdkServices) Container(name string) *container.Client {
	c, err := service.NewClientFromConnectionString(s.connection, &service.ClientOptions{ClientOptions: s.options})
	if err != nil {
		panic(err)
	}
	return c.NewContainerClient(name)
}

// bothPaths are the clients of an account, which take requests of the library, and those of the SDK.
func bothPaths(t *testing.T, p *transport) map[string]services {
	acc, err := account.FromTransport(p, nil)
	fatal(t, err)
	return map[string]services{"account": acc, "SDK": sdkServices{p.ConnectionString(), azcore.ClientOptions{Transport: p}}}
}

// readMethods are further methods that read, beside those of outageMethods.
var readMethods = map[string]func(context.Context, *outage) error{
	"Page": func(ctx context.Context, x *outage) error {
		_, err := x.plain.Page(ctx, table.Query[Employee]{TableScan: true}, "")
		return err
	},
	"Count": func(ctx context.Context, x *outage) error {
		_, err := x.plain.Count(ctx, table.Query[Employee]{TableScan: true})
		return err
	},
	"GetMany": func(ctx context.Context, x *outage) error { // of several keys, which are read by a query
		_, err := table.Collect(x.plain.GetMany(ctx, jones, keys.Stored("Sales", "000224"), keys.Stored("Sales", "000225")))
		return err
	},
	"Partitions": func(ctx context.Context, x *outage) error {
		for _, err := range x.plain.Partitions(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"verify": func(ctx context.Context, x *outage) error {
		_, err := verify.Run(ctx, x.indexed, nil)
		return err
	},
	"index.Get": func(ctx context.Context, x *outage) error {
		_, err := byName.Get(ctx, x.indexed, keys.Raw("Sales"), "Jones")
		return err
	},
	"NotifyPending": func(ctx context.Context, x *outage) error {
		_, err := x.out.NotifyPending(ctx, x.sending, nil)
		return err
	},
	"Backlog": func(ctx context.Context, x *outage) error { _, err := x.poison.Backlog(ctx); return err },
	"PoisonQueue.List": func(ctx context.Context, x *outage) error {
		for _, err := range x.poison.List(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"PoisonQueue.Drop": func(ctx context.Context, x *outage) error {
		_, err := x.poison.Drop(ctx, func(eventual.PoisonMessage) bool { return true })
		return err
	},
	"ReadAll": func(ctx context.Context, x *outage) error {
		_, err := x.photos.ReadAll(ctx, x.photo, 1<<20)
		return err
	},
	"OpenRange": func(ctx context.Context, x *outage) error {
		r, err := x.photos.OpenRange(ctx, x.photo, 10, 20)
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = io.ReadAll(r)
		return err
	},
	"Copy": func(ctx context.Context, x *outage) error {
		_, err := x.photos.Copy(ctx, keys.Stored("Sales", "000224"), x.photo)
		return err
	},
	"Sweep": func(ctx context.Context, x *outage) error {
		type photographed struct {
			Department, ID string
			Photo          largeentity.Blob
		}
		plain, err := table.New(x.tables, "staff", table.Schema[photographed]{
			Partition: keys.BindRaw(func(e *photographed) *string { return &e.Department }),
			Row:       keys.BindRaw(func(e *photographed) *string { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		staff, err := largeentity.Attach(plain, x.photos)
		if err != nil {
			return err
		}
		_, err = largeentity.Sweep(ctx, staff, x.photos, nil)
		return err
	},
	"bloblog.Between": func(ctx context.Context, x *outage) error {
		for _, err := range x.events.Between(ctx, "staff", hired.AddDate(-100, 0, 0), hired.AddDate(1000, 0, 0)) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"Destination.Get": func(ctx context.Context, x *outage) error {
		_, err := x.cold.Get(ctx, archivedJones.ID)
		return err
	},
	"Incarnations": func(ctx context.Context, x *outage) error {
		for _, err := range x.cold.Incarnations(ctx, jones) {
			if err != nil {
				return err
			}
		}
		return nil
	},
}

// TestForeignAnswers: an answer that reports success and is not the service's is believed by no method of the three services: not
// the page of a captive portal, and not an answer whose headers a proxy has removed.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	page := func(status int, contentType, body string, headers ...string) func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		return func(r *http.Request, _ func(*http.Request) (*http.Response, error)) (*http.Response, error) {
			h := http.Header{"Content-Type": {contentType}, "Content-Length": {strconv.Itoa(len(body))}}
			for i := 0; i < len(headers); i += 2 {
				h.Set(headers[i], headers[i+1])
			}
			return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
		}
	}
	methods := maps.Clone(readMethods)
	for _, m := range outageMethods {
		methods[m.name] = m.kit
	}
	for name, between := range map[string]func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error){
		"without x-ms headers": func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
			resp, err := next(r)
			if err == nil && resp.StatusCode < 300 {
				maps.DeleteFunc(resp.Header, func(name string, _ []string) bool { return strings.HasPrefix(strings.ToLower(name), "x-ms-") })
			}
			return resp, err
		},
		"an empty list":             page(200, "application/json", `{"value":[]}`),
		"an empty entity":           page(200, "application/json", `{"PartitionKey":"Sales","RowKey":"000223"}`, "ETag", `W/"1"`),
		"a page":                    page(200, "text/html", "<html>Sign in</html>"),
		"nothing":                   page(204, "", ""),
		"nothing with an ETag":      page(204, "", "", "ETag", `W/"1"`),
		"created":                   page(201, "application/json", "{}", "ETag", `"1"`),
		"an empty list of blobs":    page(200, "application/xml", "<EnumerationResults><Blobs/></EnumerationResults>"),
		"an empty list of messages": page(200, "application/xml", "<QueueMessagesList/>"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for method, call := range methods {
				for _, path := range clientPaths {
					var err error
					synctest.Test(t, func(t *testing.T) {
						p := &transport{Service: storagetest.New(nil)}
						x := newOutageOf(t, p.Service, bothPaths(t, p)[path])
						p.between = between
						err = call(t.Context(), x)
					})
					if name == "without x-ms headers" && strings.HasSuffix(method, "Ensure") {
						continue // what exists is refused, and a refusal has the service's code
					}
					if !errors.Is(err, table.ErrUnreachable) && !errors.Is(err, table.ErrUnknownOutcome) && !errors.Is(err, table.ErrOutbox) {
						t.Errorf("%s, clients of the %s: got %v; want ErrUnreachable or ErrUnknownOutcome", method, path, err)
					}
				}
			}
		})
	}
}
