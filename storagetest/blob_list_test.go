package storagetest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestBlobList: pages of blobs are sorted by name, with properties and metadata, and ETags without quotes.
func TestBlobList(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	list := func(query, want string) {
		t.Helper()
		r.expect(r.send("GET", "/photos?restype=container&comp=list"+query, ""), 200,
			xmlHead+`<EnumerationResults ServiceEndpoint="http://storagename.blob.storagetest.test/" ContainerName="photos">`+want+"</EnumerationResults>")
	}
	r.expect(r.send("PUT", "/photos?restype=container", ""), 201, "")
	list("", "<Blobs /><NextMarker />")
	r.create("/photos/a/1", "x-ms-meta-key", "val", "x-ms-blob-content-type", "text/plain", "x-ms-blob-content-md5", "XrY7u+Ae7tCTyyK7j1rNww==")
	r.create("/photos/a/2")
	r.create("/photos/b")
	entry := func(name, tag, mime, md5, metadata string) string {
		return "<Blob><Name>" + name + "</Name><Properties><Creation-Time>" + inserted + "</Creation-Time><Last-Modified>" + inserted + "</Last-Modified><Etag>" + tag + "</Etag><Content-Length>0</Content-Length><Content-Type>" +
			mime + "</Content-Type><Content-Encoding /><Content-Language /><Content-CRC64 />" + md5 + "<Cache-Control /><Content-Disposition /><BlobType>AppendBlob</BlobType><LeaseStatus>unlocked</LeaseStatus>" +
			"<LeaseState>available</LeaseState><ServerEncrypted>true</ServerEncrypted></Properties>" + metadata + "<OrMetadata /></Blob>"
	}
	const noMD5, octets = "<Content-MD5 />", "application/octet-stream"
	const marker = "2!64!MDAwMDAzIWEvMiEwMDAwMjghOTk5OS0xMi0zMVQyMzo1OTo1OS45OTk5OTk5WiE-"
	list("&maxresults=1&include=metadata", "<MaxResults>1</MaxResults><Blobs>"+entry("a/1", "0x8D509D3396169AA", "text/plain", "<Content-MD5>XrY7u+Ae7tCTyyK7j1rNww==</Content-MD5>", "<Metadata><key>val</key></Metadata>")+"</Blobs><NextMarker>"+marker+"</NextMarker>")
	list("&maxresults=1&marker="+marker, "<Marker>"+marker+"</Marker><MaxResults>1</MaxResults><Blobs>"+entry("a/2", "0x8D509D3396169AB", octets, noMD5, "")+"</Blobs><NextMarker>2!60!MDAwMDAxIWIhMDAwMDI4ITk5OTktMTItMzFUMjM6NTk6NTkuOTk5OTk5OVoh</NextMarker>")
	list("&delimiter=/", "<Delimiter>/</Delimiter><Blobs><BlobPrefix><Name>a/</Name></BlobPrefix>"+entry("b", "0x8D509D3396169AC", octets, noMD5, "")+"</Blobs><NextMarker />")
	list("&prefix=a/&delimiter=/&maxresults=1", "<Prefix>a/</Prefix><MaxResults>1</MaxResults><Delimiter>/</Delimiter><Blobs>"+entry("a/1", "0x8D509D3396169AA", "text/plain", "<Content-MD5>XrY7u+Ae7tCTyyK7j1rNww==</Content-MD5>", "")+
		"</Blobs><NextMarker>"+marker+"</NextMarker>")
	for _, marker := range []string{"x", "2!4!AAAA", "2!x!" + marker[5:], marker + "!"} {
		r.expectCode(r.send("GET", "/photos?restype=container&comp=list&marker="+marker, ""), 400, "OutOfRangeInput")
	}
}

// names returns the names in the pages of a list, and the number of pages.
func names(t *testing.T, c *container.Client, o *container.ListBlobsFlatOptions) (all []string, pages int) {
	t.Helper()
	for pager := c.NewListBlobsFlatPager(o); pager.More(); pages++ {
		page, err := pager.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page.Segment.BlobItems {
			all = append(all, *b.Name)
		}
	}
	return all, pages
}

// TestBlobPages: the pages of a list contain each blob once, in order, also if pages are shorter than requested, and whatever the
// names contain.
func TestBlobPages(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	c := s.Blobs().NewContainerClient("logs")
	if _, err := c.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"../a", "a b", "a%2Fb", "a+b&c=d", "a/\x01", "a<b>", "a?b#c", "a\ufffe", "ä/日😀", "~"}
	for i := range 20 {
		want = append(want, fmt.Sprintf("sales/2014/%06d.log", i))
	}
	slices.Sort(want)
	for _, name := range want {
		if _, err := c.NewAppendBlobClient(name).Create(t.Context(), nil); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
	}
	for _, size := range []int32{1, 7, 30, 5000} {
		if got, pages := names(t, c, &container.ListBlobsFlatOptions{MaxResults: &size}); !slices.Equal(got, want) || pages != (30+int(size)-1)/int(size) {
			t.Errorf("pages of %d: got %d pages: %q; want %q", size, pages, got, want)
		}
	}
	s.SetFaults(storagetest.OfKind(kinds.BlobList, storagetest.ShortPage(4)))
	if got, pages := names(t, c, nil); !slices.Equal(got, want) || pages != 8 {
		t.Errorf("short pages: got %d pages: %q; want 8 pages: %q", pages, got, want)
	}
	if got, _ := names(t, c, &container.ListBlobsFlatOptions{Prefix: to.Ptr("sales/2014/00001")}); len(got) != 10 {
		t.Errorf("prefix: got %q; want 10 blobs", got)
	}
}

// TestBlobHierarchy: a list with a delimiter contains each prefix once, also across pages.
func TestBlobHierarchy(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	c := s.Blobs().NewContainerClient("logs")
	if _, err := c.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b/1", "b/2", "b/3", "c", "d/1/x", "d/2/y", "e"} {
		if _, err := c.NewAppendBlobClient(name).Create(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	list := func(prefix string, size int32) string {
		var all []string
		for pager := c.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: &prefix, MaxResults: &size}); pager.More(); {
			page, err := pager.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range page.Segment.BlobPrefixes {
				all = append(all, *p.Name)
			}
			for _, b := range page.Segment.BlobItems {
				all = append(all, *b.Name)
			}
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	for _, size := range []int32{1, 2, 3, 5000} {
		for prefix, want := range map[string]string{"": "a b/ c d/ e", "b/": "b/1 b/2 b/3", "d/": "d/1/ d/2/", "d/1/": "d/1/x", "x": ""} {
			if got := list(prefix, size); got != want {
				t.Errorf("prefix %q, pages of %d: got %s; want %s", prefix, size, got, want)
			}
		}
	}
}
