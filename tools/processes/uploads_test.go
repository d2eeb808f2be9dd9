package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit/valuestest"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
)

// portrait is an entity with a large value.
type portrait struct {
	Group string
	ID    int
	Photo largeentity.Blob
}

var portraitSchema = table.Schema[portrait]{
	Partition: keys.Partition(keys.Text(), func(p *portrait) *string { return &p.Group }),
	Row:       keys.Row(keys.Digits[int](6).Named("m"), func(p *portrait) *int { return &p.ID }),
}

func photoOf(p *portrait) largeentity.Blob { return p.Photo }

// uploader is a process that uploads a photo, stores it in an entity, and reads it back. Another process opens it from its exported
// fields, in JSON.
type uploader struct {
	connection
	Table, Container string
	Bytes            int64
	Kill             string // the position at which the process is killed, such as "before 3 blob-stage", "" for none

	requests  atomic.Int64
	portraits *table.Table[portrait]
	base      *table.Table[portrait]
	photos    valuestest.Values[portrait]
}

// Do implements policy.Policy. It prints the position at which the process is to be killed, and stops there.
func (u *uploader) Do(r *policy.Request) (*http.Response, error) {
	at := fmt.Sprint(u.requests.Add(1), " ", requests.KindOf(r.Raw()))
	u.report("before " + at)
	resp, err := r.Next()
	u.report("after " + at)
	return resp, err
}

func (u *uploader) report(at string) {
	if at == u.Kill {
		fmt.Println(at)
		select {}
	}
}

// connect opens the table and the container, with a clock that is ahead.
func (u *uploader) connect(ahead time.Duration, more ...policy.Policy) error {
	acc, err := u.open(more...)
	if err != nil {
		return err
	}
	if u.base, err = bare.NewTable(acc.Tables(), u.Table, portraitSchema, nil); err != nil {
		return err
	}
	blocks := &largeentity.Options{BlocksInFlight: 1} // so that the positions of the requests are known
	options.SetNow(&blocks.Common, func() time.Time { return time.Now().Add(ahead) })
	u.photos, u.portraits, err = valuestest.New(u.base, acc, u.Container, blocks)
	return err
}

// pattern is a reader of bytes that differ from place to place.
type pattern struct{ at, end int64 }

func (p *pattern) Read(b []byte) (int, error) {
	n := int(min(int64(len(b)), p.end-p.at))
	if n == 0 {
		return 0, io.EOF
	}
	for i := range b[:n] {
		at := p.at + int64(i)
		b[i] = byte(at ^ at>>8 ^ at>>16)
	}
	p.at += int64(n)
	return n, nil
}

// work uploads, stores and reads the photo.
func (u *uploader) work(ctx context.Context) error {
	k := u.portraits.Key(portrait{Group: "g", ID: 1})
	b, err := u.photos.Upload(ctx, k, &pattern{end: u.Bytes}, "")
	if err != nil {
		return err
	}
	if _, err := u.portraits.Update(ctx, k, func(p *portrait) error { p.Photo = b; return nil }); err != nil {
		return err
	}
	r, p, err := u.photos.OpenAt(ctx, k, photoOf)
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	if err == nil && (n != u.Bytes || p.Value.Photo != b) {
		err = fmt.Errorf("got %d bytes of %v; want %v", n, p.Value.Photo, b)
	}
	return err
}

// runUploader is the program of an uploader. It prints the greatest heap in use, in bytes.
func runUploader(settings []byte) error {
	u := &uploader{}
	if err := json.Unmarshal(settings, u); err != nil {
		return err
	}
	if err := u.connect(0, u); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	most := uint64(0)
	measured := make(chan bool)
	go func() {
		defer close(measured)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	err := u.work(ctx)
	cancel()
	<-measured
	fmt.Println("heap", most)
	return err
}

// run runs the process, and kills it at its position. It returns what the process has printed.
func (u *uploader) run() (printed string, err error) {
	p, err := start("uploader", u, "GOMEMLIMIT=32MiB", "GOGC=100")
	if err != nil {
		return "", err
	}
	if p.lines.Scan() {
		printed = p.lines.Text()
	}
	if printed == u.Kill {
		p.kill()
	}
	return printed, p.wait()
}

// TestUploadProcess: processes upload a large value and are killed at ten places. Every link has its blob, and after a sweep no blob is left
// over. One more process uploads 100 MiB, or with -short 40, and reads them back with a heap of at most 32.
func TestUploadProcess(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	all := &uploader{connection: service, Table: freshName(), Container: freshName(), Bytes: 18 << 20}
	must(t, all.connect(0))
	must(t, errors.Join(tabledoor.Ensure(ctx, all.base), all.photos.Ensure(ctx)))
	first, err := all.photos.Upload(ctx, all.portraits.Key(portrait{Group: "g", ID: 1}), &pattern{end: 5 << 20}, "")
	must(t, err)
	_, err = all.portraits.Insert(ctx, &portrait{Group: "g", ID: 1, Photo: first})
	must(t, err)
	for _, at := range []string{
		"before 1 blob-stage", "after 1 blob-stage", "before 5 blob-stage", "before 6 blob-commit", "after 6 blob-commit",
		"before 8 transaction", "after 8 transaction", "before 9 blob-delete", "after 9 blob-delete", "before 11 blob-get",
	} {
		u := &uploader{connection: service, Table: all.Table, Container: all.Container, Bytes: all.Bytes, Kill: at}
		printed, err := u.run()
		must(t, err)
		if printed != at {
			t.Fatalf("got %q; want the process to be killed %s", printed, at)
		}
		r, p, err := all.photos.OpenAt(ctx, all.portraits.Key(portrait{Group: "g", ID: 1}), photoOf)
		must(t, err)
		n, err := io.Copy(io.Discard, r)
		must(t, errors.Join(err, r.Close()))
		if n != p.Value.Photo.Size() {
			t.Errorf("killed %s: got %d bytes; want %d", at, n, p.Value.Photo.Size())
		}
	}
	must(t, all.connect(26*time.Hour))
	report, err := all.photos.Sweep(ctx, nil)
	must(t, err)
	t.Logf("after ten killed processes: %+v", report)
	if report.Faults != 0 || report.Counts["orphans"]+report.Counts["replaced"] == 0 || report.Counts["linked"] != 1 {
		t.Errorf("got %+v; want 1 linked blob, none dangling, and some that are deleted", report)
	}
	report, err = all.photos.Sweep(ctx, nil)
	must(t, err)
	if report.Counts["blobs"] != 1 || report.Counts["linked"] != 1 {
		t.Errorf("got %+v; want 1 blob", report)
	}

	all.Bytes = 100 << 20
	if testing.Short() {
		all.Bytes = 40 << 20
	}
	start := time.Now()
	printed, err := all.run()
	must(t, err)
	var heap int
	_, err = fmt.Sscanf(printed, "heap %d", &heap)
	must(t, err)
	t.Logf("%d MiB uploaded and read back in %v with GOMEMLIMIT=32MiB; the greatest heap in use was %.1f MiB", all.Bytes>>20, time.Since(start).Round(time.Second/10), float64(heap)/(1<<20))
	if heap > 32<<20 {
		t.Errorf("got a heap of %d bytes; want at most 32 MiB", heap)
	}
}
