package integration

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// The tests of blobs show what the SDK's client does on every service.

// container creates a fresh container.
func (e *env) container() *container.Client {
	e.Helper()
	c := e.acc.Blobs().NewContainerClient(freshName())
	_, err := c.Create(context.Background(), nil)
	e.must(err)
	return c
}

// appendBlob creates an append blob in a fresh container.
func (e *env) appendBlob() *appendblob.Client {
	e.Helper()
	b := e.container().NewAppendBlobClient("2014/07/31/000001.log")
	_, err := b.Create(context.Background(), nil)
	e.must(err)
	return b
}

// block returns a block with a text.
func block(text string) io.ReadSeekCloser { return streaming.NopCloser(strings.NewReader(text)) }

// append appends blocks.
func (e *env) append(b *appendblob.Client, blocks ...string) {
	e.Helper()
	for _, text := range blocks {
		_, err := b.AppendBlock(context.Background(), block(text), nil)
		e.must(err)
	}
}

// content returns a range of a blob.
func (e *env) content(b *appendblob.Client, offset, count int64) string {
	e.Helper()
	got, err := b.DownloadStream(context.Background(), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: offset, Count: count}})
	e.must(err)
	text, err := io.ReadAll(got.Body)
	e.must(err)
	return string(text)
}

// wantBlobCode fails the test unless an error has a code.
func (e *env) wantBlobCode(err error, code bloberror.Code) {
	e.Helper()
	if !bloberror.HasCode(err, code) {
		e.Errorf("got error %v; want %v", err, code)
	}
}

// metadataText returns metadata in a form with names in lower case, sorted.
func metadataText(m map[string]*string) string {
	var all []string
	for name, value := range m {
		all = append(all, strings.ToLower(name)+"="+*value)
	}
	slices.Sort(all)
	return joined(all)
}

func containerLifecycle(e *env) {
	ctx := context.Background()
	c := e.acc.Blobs().NewContainerClient(freshName())
	_, err := c.Create(ctx, &container.CreateOptions{Metadata: map[string]*string{"kind": to.Ptr("logs"), "owner": to.Ptr("index")}})
	e.must(err)
	_, err = c.Create(ctx, nil)
	e.wantBlobCode(err, bloberror.ContainerAlreadyExists)
	p, err := c.GetProperties(ctx, nil)
	e.must(err)
	if got := metadataText(p.Metadata); got != "kind=logs owner=index" || *p.LeaseState != "available" || *p.LeaseStatus != "unlocked" {
		e.Errorf("got metadata %s, lease %s %s; want kind=logs owner=index, available, unlocked", got, *p.LeaseState, *p.LeaseStatus)
	}
	set, err := c.SetMetadata(ctx, &container.SetMetadataOptions{Metadata: map[string]*string{"kind": to.Ptr("photos")}})
	e.must(err)
	after, err := c.GetProperties(ctx, nil)
	e.must(err)
	if got := metadataText(after.Metadata); got != "kind=photos" || *after.ETag == *p.ETag || *after.ETag != *set.ETag {
		e.Errorf("got metadata %s, ETags %s, %s, %s; want kind=photos and a new ETag", got, *p.ETag, *set.ETag, *after.ETag)
	}
	e.wantRequests("2 container-create, 2 container-get, 1 container-set")
	_, err = c.NewAppendBlobClient("a").Create(ctx, nil)
	e.must(err)
	_, err = c.Delete(ctx, nil)
	e.must(err)
	_, err = c.GetProperties(ctx, nil)
	e.wantBlobCode(err, bloberror.ContainerNotFound)
}

func containerList(e *env) {
	ctx := context.Background()
	prefix := freshName()
	var want []string
	for i := range 5 {
		name := fmt.Sprintf("%s-%d", prefix, i)
		_, err := e.acc.Blobs().NewContainerClient(name).Create(ctx, &container.CreateOptions{Metadata: map[string]*string{"n": to.Ptr(fmt.Sprint(i))}})
		e.must(err)
		want = append(want, fmt.Sprintf("%s:%d", name, i))
	}
	var got []string
	pages := 0
	for pager := e.acc.Blobs().NewListContainersPager(&service.ListContainersOptions{Prefix: &prefix, MaxResults: to.Ptr[int32](2), Include: service.ListContainersInclude{Metadata: true}}); pager.More(); pages++ {
		page, err := pager.NextPage(ctx)
		e.must(err)
		for _, c := range page.ContainerItems {
			got = append(got, *c.Name+":"+*c.Metadata["n"])
		}
	}
	if joined(got) != joined(want) || pages != 3 {
		e.Errorf("got %d pages: %v; want 3 pages: %v", pages, got, want)
	}
}

func containerNames(e *env) {
	ctx := context.Background()
	for _, name := range []string{"Upper", "a_b", "a--b", "-ab", "ab-"} {
		_, err := e.acc.Blobs().NewContainerClient(name).Create(ctx, nil)
		e.wantBlobCode(err, bloberror.InvalidResourceName)
	}
	for _, name := range []string{"ab", strings.Repeat("a", 64)} {
		_, err := e.acc.Blobs().NewContainerClient(name).Create(ctx, nil)
		e.wantBlobCode(err, bloberror.OutOfRangeInput)
	}
	longest := freshName()
	longest += strings.Repeat("q", 63-len(longest))
	_, err := e.acc.Blobs().NewContainerClient(longest).Create(ctx, nil)
	e.must(err)
}

func blobLifecycle(e *env) {
	ctx := context.Background()
	b := e.container().NewAppendBlobClient("a.log")
	created, err := b.Create(ctx, &appendblob.CreateOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain"), BlobCacheControl: to.Ptr("no-store")}, Metadata: map[string]*string{"first": to.Ptr("1")},
	})
	e.must(err)
	for i, text := range []string{"one\n", "two\n", "three\n"} {
		at := []int64{0, 4, 8}[i]
		a, err := b.AppendBlock(ctx, block(text), nil)
		e.must(err)
		if *a.BlobAppendOffset != fmt.Sprint(at) || *a.BlobCommittedBlockCount != int32(i+1) || *a.ETag == *created.ETag {
			e.Errorf("append %d: got offset %s, %d blocks, ETag %s; want %d, %d and a new ETag", i, *a.BlobAppendOffset, *a.BlobCommittedBlockCount, *a.ETag, at, i+1)
		}
	}
	p, err := b.GetProperties(ctx, nil)
	e.must(err)
	if *p.ContentLength != 14 || *p.BlobType != blob.BlobTypeAppendBlob || *p.BlobCommittedBlockCount != 3 || *p.ContentType != "text/plain" || *p.CacheControl != "no-store" ||
		metadataText(p.Metadata) != "first=1" || !*p.IsServerEncrypted || p.CreationTime == nil || *p.LeaseState != "available" {
		e.Errorf("got properties %+v", p)
	}
	got, err := b.DownloadStream(ctx, nil)
	e.must(err)
	text, err := io.ReadAll(got.Body)
	e.must(err)
	if string(text) != "one\ntwo\nthree\n" || *got.ContentLength != 14 || *got.ContentType != "text/plain" || metadataText(got.Metadata) != "first=1" || *got.ETag != *p.ETag || got.ContentRange != nil {
		e.Errorf("got %q and %+v; want the content", text, got.DownloadResponse)
	}
	_, err = b.SetMetadata(ctx, map[string]*string{"last": to.Ptr("3")}, nil)
	e.must(err)
	_, err = b.SetHTTPHeaders(ctx, blob.HTTPHeaders{BlobContentType: to.Ptr("application/json")}, nil)
	e.must(err)
	p, err = b.GetProperties(ctx, nil)
	e.must(err)
	if metadataText(p.Metadata) != "last=3" || *p.ContentType != "application/json" || p.CacheControl != nil || *p.ContentLength != 14 {
		e.Errorf("after SetMetadata and SetHTTPHeaders: got properties %+v", p)
	}
	_, err = b.Create(ctx, nil) // replaces the blob
	e.must(err)
	e.append(b, "new")
	if got := e.content(b, 0, 0); got != "new" {
		e.Errorf("replaced blob: got %q; want new", got)
	}
	e.wantRequests("4 blob-append, 2 blob-create, 2 blob-get, 2 blob-properties, 1 blob-set-headers, 1 blob-set-metadata, 1 container-create")
	_, err = b.Delete(ctx, nil)
	e.must(err)
	_, err = b.Delete(ctx, nil)
	e.wantBlobCode(err, bloberror.BlobNotFound)
}

func blobRanges(e *env) {
	b := e.appendBlob()
	e.append(b, "abc", "d", "efgh", "ij")
	const content = "abcdefghij"
	for from := range int64(10) {
		for count := int64(1); count <= 11; count++ {
			if got, want := e.content(b, from, count), content[from:min(10, from+count)]; got != want {
				e.Errorf("%d bytes at %d: got %q; want %q", count, from, got, want)
			}
		}
		if got := e.content(b, from, 0); got != content[from:] {
			e.Errorf("from %d: got %q; want %q", from, got, content[from:])
		}
	}
	_, err := b.DownloadStream(context.Background(), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 11}})
	e.wantBlobCode(err, bloberror.InvalidRange)
	buffer := make([]byte, 10)
	n, err := b.DownloadBuffer(context.Background(), buffer, &blob.DownloadBufferOptions{BlockSize: 3, Concurrency: 4})
	e.must(err)
	if n != 10 || string(buffer) != content {
		e.Errorf("DownloadBuffer: got %d bytes, %q; want %q", n, buffer, content)
	}
}

// blobNames are names that an address escapes.
func blobNames(e *env) {
	ctx := context.Background()
	c := e.container()
	names := []string{"a b", "a%2Fb", "a+b&c=d", "a/b/c", "a<b>", "a?b#c", "a'b", "ä/日😀", "~", strings.Repeat("x", 1024)}
	slices.Sort(names)
	for _, name := range names {
		_, err := c.NewAppendBlobClient(name).Create(ctx, nil)
		e.must(err)
	}
	var got []string
	for pager := c.NewListBlobsFlatPager(nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		e.must(err)
		for _, b := range page.Segment.BlobItems {
			got = append(got, *b.Name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, names) {
		e.Errorf("got names %q; want %q", got, names)
	}
}

// blobPages: the pages of a list contain each blob with a prefix once, in order, with metadata.
func blobPages(e *env) {
	ctx := context.Background()
	c := e.container()
	var want []string
	for i := range 10 {
		name := fmt.Sprintf("sales/2014/%06d.log", i)
		_, err := c.NewAppendBlobClient(name).Create(ctx, &appendblob.CreateOptions{Metadata: map[string]*string{"n": to.Ptr(fmt.Sprint(i))}})
		e.must(err)
		want = append(want, fmt.Sprintf("%s:%d", name, i))
	}
	_, err := c.NewAppendBlobClient("hr/2014/000000.log").Create(ctx, nil)
	e.must(err)
	for _, size := range []int32{1, 3, 10, 5000} {
		var got []string
		pages := 0
		for pager := c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: to.Ptr("sales/"), MaxResults: &size, Include: container.ListBlobsInclude{Metadata: true}}); pager.More(); pages++ {
			page, err := pager.NextPage(ctx)
			e.must(err)
			for _, b := range page.Segment.BlobItems {
				got = append(got, *b.Name+":"+*b.Metadata["n"])
				if *b.Properties.BlobType != "AppendBlob" || *b.Properties.ContentLength != 0 || strings.Contains(string(*b.Properties.ETag), `"`) {
					e.Errorf("got properties %+v; want an empty append blob, and an ETag without quotes", b.Properties)
				}
			}
		}
		if joined(got) != joined(want) || pages != (10+int(size)-1)/int(size) {
			e.Errorf("pages of %d: got %d pages: %v; want %v", size, pages, got, want)
		}
	}
}

func blobHierarchy(e *env) {
	ctx := context.Background()
	c := e.container()
	for _, name := range []string{"a", "b/1", "b/2", "c", "d/1/x", "d/2/y"} {
		_, err := c.NewAppendBlobClient(name).Create(ctx, nil)
		e.must(err)
	}
	for prefix, want := range map[string]string{"": "a b/ c d/", "b/": "b/1 b/2", "d/": "d/1/ d/2/", "x": ""} {
		for _, size := range []int32{1, 2, 5000} {
			var got []string
			for pager := c.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: &prefix, MaxResults: &size}); pager.More(); {
				page, err := pager.NextPage(ctx)
				e.must(err)
				for _, p := range page.Segment.BlobPrefixes {
					got = append(got, *p.Name)
				}
				for _, b := range page.Segment.BlobItems {
					got = append(got, *b.Name)
				}
			}
			if slices.Sort(got); joined(got) != want {
				e.Errorf("prefix %q, pages of %d: got %s; want %s", prefix, size, joined(got), want)
			}
		}
	}
}

// concurrentAppends: with positions, no block is lost and none is appended twice, whatever the writers do at once.
func concurrentAppends(e *env) {
	b := e.appendBlob()
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			var at int64
			for i := 0; i < 10; {
				position := at
				a, err := b.AppendBlock(context.Background(), block(fmt.Sprintf("%d-%d\n", w, i)), &appendblob.AppendBlockOptions{AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &position}})
				switch {
				case err == nil:
					i++
					fmt.Sscan(*a.BlobAppendOffset, &at)
					at += 4
				case bloberror.HasCode(err, bloberror.AppendPositionConditionNotMet):
					p, err := b.GetProperties(context.Background(), nil)
					if err != nil {
						e.Error(err)
						return
					}
					at = *p.ContentLength
				default:
					e.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	lines := strings.Split(strings.TrimSuffix(e.content(b, 0, 0), "\n"), "\n")
	for w := range 4 {
		var got []string
		for _, line := range lines {
			if i, ok := strings.CutPrefix(line, fmt.Sprintf("%d-", w)); ok {
				got = append(got, i)
			}
		}
		if joined(got) != "0 1 2 3 4 5 6 7 8 9" {
			e.Errorf("writer %d: got blocks %v; want 0 to 9 in order", w, got)
		}
	}
}
