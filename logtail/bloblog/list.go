package bloblog

import (
	"context"
	"iter"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// listed is a blob of a list.
type listed struct {
	name     name
	metadata metadata
	etag     azcore.ETag
	length   int64
}

// page is the most blobs of a response, which bounds the memory of a list. The service allows 5,000.
const page = 1000

// list yields the blobs of logs whose names begin with a prefix, in the order of their names.
func (c client) list(ctx context.Context, prefix string) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		pages := c.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
			Prefix: &prefix, MaxResults: to.Ptr(int32(page)), Include: container.ListBlobsInclude{Metadata: true},
		})
		for pages.More() {
			found, err := c.page(ctx, pages.NextPage)
			if err != nil {
				yield(listed{}, err)
				return
			}
			for _, b := range found {
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

func (c client) page(ctx context.Context, next func(context.Context) (container.ListBlobsFlatResponse, error)) (all []listed, err error) {
	ctx, cancel := engine.Bound(ctx, c.opt.ReadTimeout)
	defer cancel()
	var call wire.Call
	resp, err := next(call.Read(ctx))
	if err = call.CheckHeaders(err); err != nil {
		return nil, refusal(&call, err)
	}
	if resp.Segment == nil {
		return nil, nil
	}
	for _, b := range resp.Segment.BlobItems {
		if b == nil || b.Properties == nil {
			continue
		}
		if n, is := parseName(deref(b.Name)); is {
			all = append(all, listed{n, parseMetadata(b.Metadata), quoted(deref(b.Properties.ETag)), deref(b.Properties.ContentLength)})
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
