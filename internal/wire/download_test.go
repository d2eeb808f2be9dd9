package wire

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// TestPayloadType: azcore keeps a body that it has read in a type that can be made empty, and set. If this fails after an update of
// the SDK, bodies are read by azcore, which is slower; see download.
func TestPayloadType(t *testing.T) {
	t.Parallel()
	if newPayload == nil {
		t.Fatal("azcore keeps the body of a response that it has read in another type than before: newPayload must find the new one")
	}
	a, b := newPayload(), newPayload()
	a.Set([]byte("a"))
	if text, err := io.ReadAll(b); err != nil || len(text) > 0 {
		t.Errorf("a second payload: got %q, error %v; want it to be empty", text, err)
	}
}

// TestDownload: a body is read whole, whatever the response says of its length, and azcore takes it for one that it has read.
func TestDownload(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	long := strings.Repeat("long ", 1000)
	for name, c := range map[string]struct {
		status int
		length int64
		body   io.Reader
		want   string
		err    error
	}{
		"empty":           {http.StatusNoContent, 0, http.NoBody, "", nil},
		"of its length":   {http.StatusOK, 5, strings.NewReader("hello"), "hello", nil},
		"byte by byte":    {http.StatusOK, 5, iotest.OneByteReader(strings.NewReader("hello")), "hello", nil},
		"shorter":         {http.StatusOK, 9, strings.NewReader("hello"), "hello", nil},
		"longer":          {http.StatusOK, 2, iotest.HalfReader(strings.NewReader(long)), long, nil},
		"of no length":    {http.StatusOK, -1, strings.NewReader(long), long, nil},
		"of great length": {http.StatusOK, 1 << 40, strings.NewReader(long), long, nil},
		"an error's":      {http.StatusConflict, 5, strings.NewReader("hello"), "hello", nil},
		"broken":          {http.StatusOK, 9, io.MultiReader(strings.NewReader("hel"), iotest.ErrReader(broken)), "", broken},
	} {
		closed := &closeCounter{Reader: c.body}
		resp := &http.Response{StatusCode: c.status, ContentLength: c.length, Body: closed}
		if err := download(resp); !errors.Is(err, c.err) {
			t.Errorf("%s: got the error %v, want %v", name, err, c.err)
		}
		if closed.n != 1 {
			t.Errorf("%s: got %d calls of Close, want 1", name, closed.n)
		}
		if c.err != nil {
			continue
		}
		if _, set := resp.Body.(payload); !set {
			t.Errorf("%s: got a body of type %T, want azcore's", name, resp.Body)
		}
		for range 2 {
			if got, err := runtime.Payload(resp); err != nil || !bytes.Equal(got, []byte(c.want)) {
				t.Errorf("%s: got %.40q, error %v; want %.40q", name, got, err, c.want)
			}
		}
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != c.want {
			t.Errorf("%s: read %.40q, error %v; want %.40q", name, got, err, c.want)
		}
	}
}

// closeCounter counts the calls of Close.
type closeCounter struct {
	io.Reader
	n int
}

func (c *closeCounter) Close() error { c.n++; return nil }
