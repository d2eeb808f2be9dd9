package others

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/drivertest"
)

// TestGoCloud: the driver of the Go Cloud Development Kit for blobs passes the kit's tests of
// drivers.
func TestGoCloud(t *testing.T) {
	t.Parallel()
	name, key := runHere(t, 78)
	if name == "" {
		return
	}
	credential, err := azblob.NewSharedKeyCredential(name, key)
	if err != nil {
		t.Fatal(err)
	}
	b := bucket{credential}
	if _, err := b.container(t.Context(), "bucket").Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	drivertest.RunConformanceTests(t, func(context.Context, *testing.T) (drivertest.Harness, error) { return b, nil }, nil)
}

// bucket is a harness like that of the driver's own tests, which need an account of the kit's
// authors.
type bucket struct{ credential *azblob.SharedKeyCredential }

func (b bucket) container(ctx context.Context, name string) *container.Client {
	c, err := container.NewClientWithSharedKeyCredential("https://"+b.credential.AccountName()+".blob.core.windows.net/"+name, b.credential, nil)
	if err != nil {
		panic(err)
	}
	return c
}

// driver returns the driver inside the bucket, which the kit hides.
func (b bucket) driver(ctx context.Context, name string) (driver.Bucket, error) {
	opened, err := azureblob.OpenBucket(ctx, b.container(ctx, name), nil)
	if err != nil {
		return nil, err
	}
	field := reflect.ValueOf(opened).Elem().FieldByName("b")
	return reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Interface().(driver.Bucket), nil
}

func (b bucket) MakeDriver(ctx context.Context) (driver.Bucket, error) {
	return b.driver(ctx, "bucket")
}

func (b bucket) MakeDriverForNonexistentBucket(ctx context.Context) (driver.Bucket, error) {
	return b.driver(ctx, "none")
}

func (bucket) HTTPClient() *http.Client         { return &http.Client{Transport: typed{}} }
func (bucket) SupportsCopy() bool               { return true }
func (bucket) SupportsNonSlashDelimiters() bool { return true }
func (bucket) SkipDownloadAt() bool             { return true }
func (bucket) Close()                           {}

// typed adds the header to signed uploads that the service demands and the kit's tests do not send.
type typed struct{}

func (typed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "blob-for-signing") {
		r = r.Clone(r.Context())
		r.Header.Set("x-ms-blob-type", "BlockBlob")
	}
	return http.DefaultTransport.RoundTrip(r)
}
