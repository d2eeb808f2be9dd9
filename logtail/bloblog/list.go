package bloblog

import (
	"context"
	"iter"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/blobs"
)

// listed is a blob of a list.
type listed struct {
	name     name
	metadata metadata
	etag     azcore.ETag
	length   int64
}

// list yields the blobs of logs whose names begin with a prefix, in the order of their names.
func (c client) list(ctx context.Context, prefix string) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		for b, err := range blobs.List(ctx, c.container, prefix, c.opt.ReadTimeout, refusal) {
			if err != nil {
				yield(listed{}, err)
				return
			}
			if n, is := parseName(b.Name); is && !yield(listed{n, parseMetadata(b.Metadata), b.ETag, b.Length}, nil) {
				return
			}
		}
	}
}
