package whole_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"
	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
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

func (s sdkServices) Queues() *azqueue.ServiceClient {
	c, err := azqueue.NewServiceClientFromConnectionString(s.connection, &azqueue.ClientOptions{ClientOptions: s.options})
	if err != nil {
		panic(err)
	}
	return c
}

func (s sdkServices) Blobs() *service.Client {
	c, err := service.NewClientFromConnectionString(s.connection, &service.ClientOptions{ClientOptions: s.options})
	if err != nil {
		panic(err)
	}
	return c
}

// bothPaths are the clients of an account, which take requests of the library, and those of the SDK.
func bothPaths(t *testing.T, p *transport) map[string]services {
	acc, err := account.FromTransport(p, nil)
	fatal(t, err)
	return map[string]services{"account": acc, "SDK": sdkServices{p.ConnectionString(), azcore.ClientOptions{Transport: p}}}
}

// firstError ranges over a list up to its first error.
func firstError[E any](list iter.Seq2[E, error]) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// readMethods are further methods that read, beside those of outageMethods.
var readMethods = map[string]func(context.Context, *outage) error{
	"Page": func(ctx context.Context, x *outage) error {
		_, err := x.base.Page(ctx, table.Query[Employee]{TableScan: true}, "")
		return err
	},
	"Count": func(ctx context.Context, x *outage) error {
		_, err := x.base.Count(ctx, table.Query[Employee]{TableScan: true})
		return err
	},
	"GetMany of several": func(ctx context.Context, x *outage) error { // of several keys, which are read by a query
		_, err := table.Collect(x.base.GetMany(ctx, jones, keys.Raw("Sales", "000224"), keys.Raw("Sales", "000225")))
		return err
	},
	"Partitions": func(ctx context.Context, x *outage) error {
		return firstError(x.base.Partitions(ctx, keys.PartitionRange{}))
	},
	"verify": func(ctx context.Context, x *outage) error {
		_, err := verify.Check(ctx, x.indexed, nil)
		return err
	},
	"index.Get": func(ctx context.Context, x *outage) error {
		_, err := byName.Get(ctx, x.indexed, keys.RawPartition("Sales"), "Jones")
		return err
	},
	"NotifyPending": func(ctx context.Context, x *outage) error {
		_, err := x.out.NotifyPending(ctx, x.sending, 0, nil)
		return err
	},
	"Backlog": func(ctx context.Context, x *outage) error { _, err := x.poison.Backlog(ctx); return err },
	"PoisonQueue.List": func(ctx context.Context, x *outage) error {
		return firstError(x.poison.List(ctx))
	},
	"PoisonQueue.Drop": func(ctx context.Context, x *outage) error {
		_, err := x.poison.Drop(ctx, func(eventual.PoisonMessage) bool { return true })
		return err
	},
	"Open": func(ctx context.Context, x *outage) error {
		r, err := x.photos.Open(ctx, x.photo)
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = io.ReadAll(r)
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
		_, err := x.photos.Copy(ctx, keys.Raw("Sales", "000224"), x.photo)
		return err
	},
	"Sweep": func(ctx context.Context, x *outage) error {
		_, err := x.photos.Sweep(ctx, nil)
		return err
	},
	"bloblog.Between": func(ctx context.Context, x *outage) error {
		return firstError(x.events.Between(ctx, "staff", hired.AddDate(-100, 0, 0), hired.AddDate(1000, 0, 0)))
	},
	"Destination.Get": func(ctx context.Context, x *outage) error {
		_, err := x.cold.Get(ctx, archivedJones.ID)
		return err
	},
	"Log.Tail": func(ctx context.Context, x *outage) error { return firstError(x.lines.Tail(ctx, 10)) },
	"Log.Between": func(ctx context.Context, x *outage) error {
		return firstError(x.lines.Between(ctx, hired, hired.AddDate(1000, 0, 0)))
	},
	"Records.Get": func(ctx context.Context, x *outage) error {
		_, err := records.Of(x.sending).Get(ctx, keys.RawPartition("Sales"), "00VHNCZB00X3HA15YNNNN76AS1")
		return err
	},
	"Records.List": func(ctx context.Context, x *outage) error {
		return firstError(records.Of(x.sending).List(ctx, keys.RawPartition("Sales"), hired.AddDate(1000, 0, 0)))
	},
	"SweepAll": func(ctx context.Context, x *outage) error {
		_, err := baretest.SweepAll(ctx, x.sending)
		return err
	},
	"FinishPrepared": func(ctx context.Context, x *outage) error {
		_, err := baretest.FinishPrepared(ctx, x.sending, keys.RawPartition("Sales"), hired.AddDate(1000, 0, 0), commit.LeaveOrphans)
		return err
	},
	"GetFields": func(ctx context.Context, x *outage) error { _, err := x.base.GetFields(ctx, jones, age); return err },
	"View.List": func(ctx context.Context, x *outage) error {
		names, err := table.ViewOf[struct{ Name string }](x.base)
		if err != nil {
			return err
		}
		return firstError(names.List(ctx, table.Query[Employee]{TableScan: true}))
	},
	"Mixed.List": func(ctx context.Context, x *outage) error {
		all, err := table.NewMixed(x.base)
		if err != nil {
			return err
		}
		return firstError(all.List(ctx, table.Query[table.Row]{TableScan: true}))
	},
	"Lists.Keys": func(ctx context.Context, x *outage) error {
		lists, _, staff := summarized(x)
		_, err := lists.Keys(ctx, staff, keys.RawPartition("Sales"), "Jones")
		return err
	},
	"Summary.Get": func(ctx context.Context, x *outage) error {
		_, summary, staff := summarized(x)
		_, err := summary.Get(ctx, staff, keys.RawPartition("Sales"), "Jones")
		return err
	},
	"Summary.All": func(ctx context.Context, x *outage) error {
		_, summary, staff := summarized(x)
		return firstError(summary.All(ctx, staff, keys.RawPartition("Sales")))
	},
	"series.Read": func(ctx context.Context, x *outage) error {
		visits := series.New[int64](&host.Host{Tables: x.tables}, "staff", series.Days(time.UTC), nil)
		_, err := visits.Read(ctx, hired)
		return err
	},
	"Mover.Find": func(ctx context.Context, x *outage) error {
		mover, err := workertest.NewMover("cold", x.sending, x.cold, x.out)
		if err != nil {
			return err
		}
		_, _, err = mover.Find(ctx, keys.Raw("Sales", "000299"))
		return err
	},
	"Incarnations": func(ctx context.Context, x *outage) error {
		return firstError(x.cold.Incarnations(ctx, jones))
	},
}

// summarized returns a handle of the table with a list and a summary.
func summarized(x *outage) (*index.Lists[Employee, string], *index.Summary[Employee, string], *table.Table[Employee]) {
	name := func(e *Employee) (string, bool) { return e.Name, true }
	lists := index.NewLists("list", keys.Text(), name, &index.ListOptions{Reserved: true})
	summary := index.NewSummary("sum", keys.Text(), name, &index.SummaryOptions{Reserved: true})
	staff, err := baretest.Attach(x.base, lists, summary)
	if err != nil {
		panic(err)
	}
	return lists, summary, staff
}

// TestForeignAnswers: an answer that is not the service's is believed by no method of the three services, neither success nor a
// refusal: not the page of a captive portal, and not an answer whose headers a proxy has removed.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	type between = func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error)
	page := func(status int, contentType, body string, headers ...string) between {
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
	names := slices.Sorted(maps.Keys(methods))
	const removed = "without x-ms headers"
	for i, answer := range []struct {
		name string
		between
	}{
		{removed, func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
			resp, err := next(r)
			if err == nil {
				maps.DeleteFunc(resp.Header, func(name string, _ []string) bool { return strings.HasPrefix(strings.ToLower(name), "x-ms-") })
			}
			return resp, err
		}},
		{"an empty list", page(200, "application/json", `{"value":[]}`)},
		{"an entity", page(200, "application/json", `{"PartitionKey":"Sales","RowKey":"000223"}`, "ETag", `W/"1"`)},
		{"a page", page(200, "text/html", "<html>Sign in</html>")},
		{"nothing", page(204, "", "")},
		{"nothing with an ETag", page(204, "", "", "ETag", `W/"1"`)},
		{"created", page(201, "application/json", "{}", "ETag", `"1"`)},
		{"an accepted transaction", page(202, "multipart/mixed; boundary=b", "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nHTTP/1.1 204 No Content\r\nETag: 1\r\n\r\n\r\n--c--\r\n--b--\r\n")},
		{"a part of a blob", page(206, "application/octet-stream", "xxxxxxxxxx", "ETag", `"1"`, "Content-Range", "bytes 10-19/100000")},
		{"an empty list of blobs", page(200, "application/xml", "<EnumerationResults><Blobs/></EnumerationResults>")},
		{"no such row", page(404, "application/json", `{"odata.error":{"code":"ResourceNotFound","message":{"value":"x"}}}`)},
		{"a row that exists", page(409, "application/json", `{"odata.error":{"code":"EntityAlreadyExists","message":{"value":"x"}}}`)},
		{"a changed row", page(412, "application/json", `{"odata.error":{"code":"UpdateConditionNotSatisfied","message":{"value":"x"}}}`)},
		{"no such blob", page(404, "application/xml", `<?xml version="1.0"?><Error><Code>BlobNotFound</Code><Message>x</Message></Error>`)},
		{"a container that exists", page(409, "application/xml", `<?xml version="1.0"?><Error><Code>ContainerAlreadyExists</Code><Message>x</Message></Error>`)},
		{"an invalid input", page(400, "application/json", `{"odata.error":{"code":"InvalidInput","message":{"value":"x"}}}`)},
		{"an empty list of messages", page(200, "application/xml", "<QueueMessagesList/>")},
	} {
		t.Run(answer.name, func(t *testing.T) {
			t.Parallel()
			for j, method := range names {
				if answer.name != removed && (i+j)%testkit.Sample(1) != 0 {
					continue
				}
				for _, path := range clientPaths {
					var err error
					synctest.Test(t, func(t *testing.T) {
						p := &transport{Service: storagetest.New(nil)}
						x := newOutageOf(t, p.Service, bothPaths(t, p)[path])
						p.between = answer.between
						err = methods[method](t.Context(), x)
					})
					if !errors.Is(err, table.ErrUnreachable) && !errors.Is(err, table.ErrUnknownOutcome) && !errors.Is(err, table.ErrOutbox) {
						t.Errorf("%s, clients of the %s: got %v; want ErrUnreachable or ErrUnknownOutcome", method, path, err)
					}
				}
			}
		})
	}
}
