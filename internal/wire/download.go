package wire

import (
	"io"
	"net/http"
	"reflect"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// mostInOne is the length of the longest response body that is read into one allocation. The service's largest response has 4 MiB.
const mostInOne = 16 << 20

// download reads the body of a response, in place of azcore's bodyDownloadPolicy. azcore's own reading begins with 512 bytes, also for
// an empty body, and grows and copies: of a large body, it allocates five times the length.
func download(resp *http.Response) error {
	n := resp.ContentLength
	if resp.Body == nil || n < 0 || n > mostInOne || resp.StatusCode >= http.StatusBadRequest || newPayload == nil {
		_, err := runtime.Payload(resp)
		return err
	}
	body, err := readAll(resp.Body, n)
	resp.Body.Close()
	if err != nil {
		return err
	}
	p := newPayload()
	p.Set(body)
	resp.Body = p
	return nil
}

// payload is the type in which azcore keeps a body that was read. It takes another for one that was not.
type payload interface {
	io.ReadCloser
	Set([]byte)
}

// newPayload makes a payload, nil if azcore keeps bodies in another way. Its type is found in a response that azcore has read.
var newPayload = func() func() payload {
	resp := &http.Response{Body: http.NoBody}
	if _, err := runtime.Payload(resp); err != nil {
		return nil
	}
	of := reflect.TypeOf(resp.Body)
	if _, ok := resp.Body.(payload); !ok || of.Kind() != reflect.Pointer {
		return nil
	}
	return func() payload { return reflect.New(of.Elem()).Interface().(payload) }
}()

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
