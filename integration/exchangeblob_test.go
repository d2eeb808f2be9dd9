package integration

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
)

//go:embed exchangeblob.js
var exchangeBlob string

// TestExchangeOfBlobsWithJavaScript: each language reads the append blobs that the other writes.
func TestExchangeOfBlobsWithJavaScript(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs Node.js and a service")
	}
	t.Parallel()
	blobs := map[string][]string{
		"plain.log": {"one\n", "two\n"}, "sales/2014/07/31/000001.log": {`{"p":"Sales"}` + "\n"}, "ä b/日😀 %2F?#.log": {"é日😀 <a>&amp;</a>\r\n"}, "empty": {},
	}
	all, err := json.Marshal(blobs)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range services() {
		t.Run(b.Name()+"/theirs", func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, b)
			c := e.container()
			e.node(exchangeBlob, lastSegment(c.URL()), "write", "BLOBS="+string(all))
			for name, blocks := range blobs {
				own := c.NewAppendBlobClient(name)
				if got, want := e.content(own, 0, 0), strings.Join(blocks, ""); got != want {
					e.Errorf("%s: got %q; want %q", name, got, want)
				}
				p, err := own.GetProperties(context.Background(), nil)
				e.must(err)
				if metadataText(p.Metadata) != "language=js" || *p.ContentType != "text/plain" || int(*p.BlobCommittedBlockCount) != len(blocks) {
					e.Errorf("%s: got properties %+v; want metadata language=js, text/plain and %d blocks", name, p, len(blocks))
				}
			}
		})
		t.Run(b.Name()+"/ours", func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, b)
			c := e.container()
			for name, blocks := range blobs {
				own := c.NewAppendBlobClient(name)
				_, err := own.Create(context.Background(), &appendblob.CreateOptions{Metadata: map[string]*string{"language": to.Ptr("go")}, HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain")}})
				e.must(err)
				e.append(own, blocks...)
			}
			var got struct {
				Blobs map[string]struct {
					Text, Part, Type string
					Blocks           int
					Metadata         map[string]string
				}
				Prefixes []string
			}
			e.must(json.Unmarshal(e.node(exchangeBlob, lastSegment(c.URL()), "read"), &got))
			if len(got.Blobs) != len(blobs) || strings.Join(got.Prefixes, " ") != "sales/ ä b/" {
				e.Errorf("got blobs %q and prefixes %q; want %q, sales/ and ä b/", slices.Collect(maps.Keys(got.Blobs)), got.Prefixes, slices.Collect(maps.Keys(blobs)))
			}
			for name, blocks := range blobs {
				read, text := got.Blobs[name], strings.Join(blocks, "")
				part, err := base64.StdEncoding.DecodeString(read.Part)
				e.must(err)
				if read.Text != text || text != "" && string(part) != text[1:] || read.Blocks != len(blocks) || read.Type != "text/plain" || read.Metadata["language"] != "go" {
					e.Errorf("%s: got %+v; want %q in %d blocks", name, read, text, len(blocks))
				}
			}
		})
	}
}

// lastSegment returns the part of a URL after the last slash.
func lastSegment(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }
