package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

//go:embed exchangeblockblob.js
var exchangeBlockBlob string

// exchangedContent returns the content of a size that the JavaScript side uploads, too.
func exchangedContent(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i*31 + i>>10)
	}
	return b
}

// TestExchangeOfBlockBlobsWithJavaScript: each language reads the block blobs that the other uploads, in one request or in blocks.
func TestExchangeOfBlockBlobsWithJavaScript(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs Node.js and a service")
	}
	t.Parallel()
	const mib = 1 << 20
	type upload struct {
		size, blocks int
	}
	for _, b := range services() {
		t.Run(b.Name()+"/theirs", func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, b)
			c := e.container()
			e.node(exchangeBlockBlob, lastSegment(c.URL()), "write")
			for name, want := range map[string]upload{"empty": {0, 0}, "put": {mib + 1, 0}, "blocks": {3*mib + 1, 4}, "stream": {3*mib + 1, 4}, "ä b/日😀 %2F?#.jpg": {6, 2}} {
				own := c.NewBlockBlobClient(name)
				content := exchangedContent(want.size)
				if want.size == 6 {
					content = []byte("onetwo")
				}
				got, err := own.DownloadStream(context.Background(), nil)
				e.must(err)
				text, err := io.ReadAll(got.Body)
				e.must(err)
				list, err := own.GetBlockList(context.Background(), blockblob.BlockListTypeAll, nil)
				e.must(err)
				if !bytes.Equal(text, content) || len(list.CommittedBlocks) != want.blocks || len(list.UncommittedBlocks) != 0 || metadataText(got.Metadata) != "language=js" || *got.ContentType != "image/jpeg" {
					e.Errorf("%s: got %d bytes, equal %t, %d blocks, metadata %s, type %s; want %+v, language=js, image/jpeg", name, len(text), bytes.Equal(text, content), len(list.CommittedBlocks), metadataText(got.Metadata), *got.ContentType, want)
				}
			}
		})
		t.Run(b.Name()+"/ours", func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, b)
			c := e.container()
			uploads := map[string]upload{"put": {mib + 1, 0}, "stream": {3*mib + 1, 4}, "ä b/日😀 %2F?#.jpg": {10, 0}}
			for name, u := range uploads {
				blockSize := int64(2 * mib)
				if u.blocks > 0 {
					blockSize = mib
				}
				_, err := c.NewBlockBlobClient(name).UploadStream(context.Background(), bytes.NewReader(exchangedContent(u.size)), &blockblob.UploadStreamOptions{
					BlockSize: blockSize, Metadata: map[string]*string{"language": to.Ptr("go")}, HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("image/jpeg")},
				})
				e.must(err)
			}
			var got map[string]struct {
				Size, Blocks                              int
				Sum, Parallel, Part, WantPart, Type, Kind string
				Metadata                                  map[string]string
			}
			e.must(json.Unmarshal(e.node(exchangeBlockBlob, lastSegment(c.URL()), "read"), &got))
			if len(got) != len(uploads) {
				e.Errorf("got blobs %v; want %v", got, uploads)
			}
			for name, u := range uploads {
				read, sum := got[name], fmt.Sprintf("%x", sha256.Sum256(exchangedContent(u.size)))
				if read.Size != u.size || read.Blocks != u.blocks || read.Sum != sum || read.Parallel != sum || read.Part != read.WantPart || read.Kind != "BlockBlob" || read.Type != "image/jpeg" || read.Metadata["language"] != "go" {
					e.Errorf("%s: got %+v; want %+v with SHA-256 %s", name, read, u, sum)
				}
			}
		})
	}
}
