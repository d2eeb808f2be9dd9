package table_test

import (
	"context"
	"io"
	"math"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/bulk"
	"github.com/aztablekit/aztablekit/table"
)

// discardingService answers each transaction with success and stores nothing.
type discardingService struct{}

func (discardingService) Do(r *http.Request) (*http.Response, error) {
	n := 0
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		n = strings.Count(string(body), "Content-Transfer-Encoding: binary")
	}
	var b strings.Builder
	b.WriteString("--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n")
	for range n {
		b.WriteString("--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 204 No Content\r\nETag: " + etag + "\r\n\r\n\r\n")
	}
	b.WriteString("--changesetresponse_1--\r\n--batchresponse_1--\r\n")
	resp := jsonResponse(202, b.String())
	resp.Header.Set("Content-Type", "multipart/mixed; boundary=batchresponse_1")
	resp.Request = r
	return resp, nil
}

// TestBulkMemory: a million operations use no more memory than a hundred thousand.
func TestBulkMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: takes half a minute of all processors")
	}
	staff, err := table.New(sdkClient(t, discardingService{}, func(o *azcore.ClientOptions) { *o = table.ClientOptions(*o, nil) }), "staff", staffSchema, blindOptions())
	noError(t, err)
	const early, late = 100_000, 999_999               // employees have six digits
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // a small heap would be collected all the time
	inUse := map[int]int64{}
	// The heap depends on which partition lags. With a small window the difference is below 2 MiB.
	o := &bulk.Options{Width: 4, Window: 1000}
	r, err := bulk.Run(context.Background(), stream(late+1, func(i int) table.Op {
		if i == early || i == late {
			inUse[i] = heapInUse()
		}
		return upserts(staff, 10)(i)
	}), o)
	if err != nil || r.Done != late+1 {
		t.Fatalf("got %+v, %v; want no error and r.Done == late+1", r, err)
	}
	t.Logf("%d KiB in use after %d operations, %d KiB after %d", inUse[early]>>10, early, inUse[late]>>10, late)
	if d := inUse[late] - inUse[early]; d > 2<<20 || d < -2<<20 {
		t.Errorf("got a difference of %d KiB; want at most 2 MiB", d>>10)
	}
}

// heapInUse returns the size of the heap after garbage collection, once the transactions under way have ended. Their results
// wait while heapInUse runs.
func heapInUse() int64 {
	least := int64(math.MaxInt64)
	for same := 0; same < 30; same++ { // a busy machine needs several collections
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if int64(m.HeapAlloc) < least-16<<10 {
			same = 0
		}
		least = min(least, int64(m.HeapAlloc))
	}
	return least
}
