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
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
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
	h := http.Header{"Content-Type": {"multipart/mixed; boundary=batchresponse_1"}, "X-Ms-Version": {"2019-02-02"}}
	return &http.Response{StatusCode: http.StatusAccepted, Status: "202 Accepted", Header: h, Body: io.NopCloser(strings.NewReader(b.String())), Request: r}, nil
}

// TestRunMemory: 120,000 operations use no more memory than 15,000.
func TestRunMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: sends 120,000 operations, and collects garbage 60 times")
	}
	client := table.ClientOptions(azcore.ClientOptions{Transport: discardingService{}}, nil)
	service, err := aztables.NewServiceClientWithNoCredential("http://127.0.0.1:1/account", &aztables.ClientOptions{ClientOptions: client})
	noError(t, err)
	staff, err := bare.NewTable(service, "staff", staffSchema, &table.Options{BlindWrites: true})
	noError(t, err)
	const early, late = 15_000, 119_999
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // a small heap would be collected all the time
	inUse := map[int]int64{}
	// The heap depends on which partition lags. With a small window the difference is below 2 MiB, which is 20 bytes of each operation.
	o := &engine.BulkOptions{Concurrency: 4, Window: 1000}
	r, err := door.Bulk(context.Background(), stream(late+1, func(i int) table.Op {
		if i == early || i == late {
			inUse[i] = heapInUse()
		}
		return upserts(staff, 10)(i)
	}), o)
	if err != nil || r.Applied != late+1 {
		t.Fatalf("got %+v, %v; want no error and r.Applied == late+1", r, err)
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
