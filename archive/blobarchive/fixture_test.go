package blobarchive_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

var (
	must   = testkit.NoError
	expect = testkit.Expect[any]
)

// incarnation is that of most rows of these tests.
const incarnation = "0000000000000001"

// fixture is a destination in the container "old" of a service in memory.
type fixture struct {
	workertest.Destination
	t         testing.TB
	service   *storagetest.Service
	container *container.Client
}

// in is an account that has other clients of blobs.
type in struct {
	*storagetest.Service
	blobs *service.Client
}

func (a in) Blobs() *service.Client { return a.blobs }

// newFixture returns a destination without pauses between attempts.
func newFixture(t testing.TB) *fixture {
	t.Helper()
	s := storagetest.New(nil)
	c := s.Blobs().NewContainerClient("old")
	o := &archive.Options{}
	o.Retry.Attempts = 4
	o.Retry.Wait = -1
	d := destination(t, s, "old", o)
	must(t, d.Ensure(context.Background()))
	s.Count()
	return &fixture{d, t, s, c}
}

// destination returns a destination in a container of an account.
func destination(t testing.TB, a host.Account, name string, o *archive.Options) workertest.Destination {
	t.Helper()
	d, err := workertest.Place(&host.Host{Account: a}, blobarchive.New(name, o))
	must(t, err)
	return d
}

// idOf returns the ID of an incarnation of a key in partition S.
func idOf(rowKey, incarnation string) archive.ID {
	return archive.ID{Key: keys.Raw("S", rowKey), Incarnation: incarnation}
}

// archived returns a row whose property Last is a text.
func archived(t testing.TB, id archive.ID, last string) *archive.ArchivedRow {
	t.Helper()
	row := &table.Row{Key: id.Key}
	must(t, row.Set("Last", last))
	return &archive.ArchivedRow{ID: id, Kind: "current/old", Row: row, Moves: []string{"00000000000000000000000001"}, Time: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)}
}

// tombstone returns a tombstone.
func tombstone(id archive.ID) *archive.ArchivedRow {
	return &archive.ArchivedRow{ID: id, Kind: "current/old"}
}

// put stores a row.
func (fx *fixture) put(r *archive.ArchivedRow, version string) {
	fx.t.Helper()
	must(fx.t, fx.Put(fx.t.Context(), r, version))
}

// get returns what is stored for an ID, "none", "tombstone" or the property Last, and the version.
func (fx *fixture) get(id archive.ID) (last, version string) {
	fx.t.Helper()
	r, err := fx.Get(fx.t.Context(), id)
	must(fx.t, err)
	switch {
	case r == nil:
		return "none", ""
	case r.Row == nil:
		return "tombstone", r.Version
	}
	v, _ := r.Row.Get("Last")
	return fmt.Sprint(v), r.Version
}

// putForeign stores a blob by other means.
func (fx *fixture) putForeign(name, content string, metadata map[string]*string) {
	fx.t.Helper()
	putForeign(fx.t, fx.container, name, content, metadata)
}

// blobNames returns the names of all blobs.
func (fx *fixture) blobNames() string {
	var names []string
	for _, b := range fx.service.StoredBlobs("old") {
		names = append(names, b.Name)
	}
	return strings.Join(names, " ")
}

// listed returns the rows of a list, such as "a=Jones", or "foreign", sorted.
func listed(t testing.TB, all func(func(*archive.ArchivedRow, error) bool), isForeign func(error) bool) string {
	t.Helper()
	var texts []string
	for r, err := range all {
		switch {
		case isForeign(err):
			texts = append(texts, "foreign")
		case err != nil:
			t.Errorf("got error %v; want none", err)
		default:
			v, _ := r.Row.Get("Last")
			texts = append(texts, fmt.Sprintf("%s=%v", r.Key.RowKey(), v))
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// transport is a service, or a process of package crashtest.
type transport interface {
	Do(*http.Request) (*http.Response, error)
	ConnectionString() string
}

// hooked calls a function before each request.
type hooked struct {
	transport
	before func(*http.Request)
}

func (h hooked) Do(r *http.Request) (*http.Response, error) {
	if h.before != nil {
		h.before(r)
	}
	return h.transport.Do(r)
}

// blobsOf returns the clients of blobs through a transport, whose reads are not repeated. before, if any, is called before each
// request.
func blobsOf(via transport, before func(*http.Request)) *service.Client {
	c, err := service.NewClientFromConnectionString(via.ConnectionString(), &service.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: hooked{via, before}, Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		panic(err)
	}
	return c
}
