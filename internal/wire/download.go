package wire

import (
	"io"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// The lengths of a response body that is read into one allocation. azcore's own reading begins with 512 bytes, and grows and copies:
// of a large body, it allocates five times the length.
const (
	leastInOne = 2 << 10
	mostInOne  = 16 << 20 // the service's largest response has 4 MiB
)

// download reads the body of a response, in place of azcore's bodyDownloadPolicy.
func download(resp *http.Response) error {
	n := resp.ContentLength
	if resp.Body == nil || n < leastInOne || n > mostInOne {
		_, err := runtime.Payload(resp)
		return err
	}
	body, err := readAll(resp.Body, n)
	resp.Body.Close()
	if err != nil {
		return err
	}
	resp.Body = http.NoBody
	if _, err := runtime.Payload(resp); err != nil { // it puts azcore's reader of bodies there
		return err
	}
	resp.Body.(interface{ Set([]byte) }).Set(body)
	return nil
}

// readAll is io.ReadAll for a body that probably has n bytes.
func readAll(r io.Reader, n int64) ([]byte, error) {
	b := make([]byte, 0, n+1) // with room to see the end
	for {
		got, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+got]
		switch {
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		case len(b) == cap(b):
			b = append(b, 0)[:len(b)]
		}
	}
}
