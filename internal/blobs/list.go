package blobs

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// Listed is a blob of a list.
type Listed struct {
	Name     string
	Metadata map[string]*string
	ETag     azcore.ETag // with quotes, as headers have it
	Length   int64
	Modified time.Time // in whole seconds, rounded down
}

// PageSize is the most blobs of a response, which bounds the memory of a list. The service allows 5,000.
const PageSize = 1000

// List yields the blobs of a container whose names begin with a prefix, in the order of their names. timeout bounds each request,
// and refusal makes the error of a failed one.
func List(ctx context.Context, c *container.Client, prefix string, timeout time.Duration, refusal func(*wire.Call, error) error) iter.Seq2[*Listed, error] {
	return func(yield func(*Listed, error) bool) {
		pages := c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
			Prefix: &prefix, MaxResults: to.Ptr(int32(PageSize)), Include: container.ListBlobsInclude{Metadata: true},
		})
		for pages.More() {
			page, err := readPage(ctx, pages.NextPage, timeout, refusal)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, b := range page {
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

func readPage(ctx context.Context, next func(context.Context) (container.ListBlobsFlatResponse, error), timeout time.Duration, refusal func(*wire.Call, error) error) (all []*Listed, err error) {
	ctx, cancel := engine.Bound(ctx, timeout)
	defer cancel()
	var call wire.Call
	resp, err := next(call.Read(ctx))
	if err = call.Check(err); err != nil {
		return nil, refusal(&call, err)
	}
	if resp.Segment == nil {
		return nil, nil
	}
	for _, b := range resp.Segment.BlobItems {
		if b != nil && b.Properties != nil {
			all = append(all, &Listed{Deref(b.Name), b.Metadata, quoted(Deref(b.Properties.ETag)), Deref(b.Properties.ContentLength), Deref(b.Properties.LastModified)})
		}
	}
	return all, nil
}

// quoted returns an ETag as headers have it: lists leave its quotes out.
func quoted(etag azcore.ETag) azcore.ETag {
	if etag == "" || strings.HasSuffix(string(etag), `"`) {
		return etag
	}
	return `"` + etag + `"`
}
