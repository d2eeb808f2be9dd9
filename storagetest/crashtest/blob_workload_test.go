package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// appLog returns the client of the blob app.log in the container logs, without retries.
func appLog(p *crashtest.Process) (*container.Client, *appendblob.Client) {
	c, err := container.NewClientFromConnectionString(p.ConnectionString(), "logs", &container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: p, Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		panic(err)
	}
	return c, c.NewAppendBlobClient("app.log")
}

// appendLines is a workload in which a process appends numbered lines. With positions, an append whose outcome is unknown is
// repeated at its position.
func appendLines(positions bool) func() crashtest.Workload {
	return func() crashtest.Workload {
		var appended []string
		line := func(ctx context.Context, b *appendblob.Client, text string, at int64) error {
			o := &appendblob.AppendBlockOptions{}
			if positions {
				o.AppendPositionAccessConditions = &appendblob.AppendPositionAccessConditions{AppendPosition: &at}
			}
			for range 3 {
				_, err := b.AppendBlock(ctx, streaming.NopCloser(strings.NewReader(text)), o)
				if err == nil || positions && bloberror.HasCode(err, bloberror.AppendPositionConditionNotMet) {
					appended = append(appended, text)
					return nil
				}
			}
			return errors.New("three attempts failed")
		}
		return crashtest.Workload{
			Setup: func(ctx context.Context, p *crashtest.Process) error {
				c, b := appLog(p)
				_, err1 := c.Create(ctx, nil)
				_, err2 := b.Create(ctx, nil)
				return errors.Join(err1, err2)
			},
			Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
				_, b := appLog(p)
				for i := range 3 {
					if err := line(ctx, b, fmt.Sprintf("%d\n", i), int64(2*i)); err != nil {
						return nil
					}
				}
				return nil
			}},
			Check: func(s *storagetest.Service) error {
				got, want := string(s.StoredBlobs("logs")[0].Content()), strings.Join(appended, "")
				if rest, ok := strings.CutPrefix(got, want); !ok || len(rest) > 2 || len(appended) == 3 && rest != "" {
					return fmt.Errorf("got lines %q; want %q, and perhaps one more", got, want)
				}
				return nil
			},
		}
	}
}

// TestBlobs: Enumerate finds the duplicate lines of appends without positions, and none with positions.
func TestBlobs(t *testing.T) {
	t.Parallel()
	var o crashtest.Options
	if testkit.Few() {
		o.PairLimit = -1
	}
	crashtest.Enumerate(t, appendLines(true), &o).Require(t)
	if r := crashtest.Enumerate(t, appendLines(false), &o); len(r.Violations) == 0 {
		t.Errorf("got %v; want duplicate lines", r)
	}
}

// TestBlobFaults: reads of blobs do not arrive twice, and lists have short pages.
func TestBlobFaults(t *testing.T) {
	t.Parallel()
	has := func(kind requests.Kind, fault storagetest.Fault) bool {
		for _, f := range crashtest.Faults(storagetest.Request{Kind: kind, Container: "logs"}) {
			if f == fault {
				return true
			}
		}
		return false
	}
	for kind, want := range map[requests.Kind]bool{
		kinds.ContainerCreate: true, kinds.ContainerDelete: true, kinds.ContainerSet: true, kinds.ContainerLease: true, kinds.BlobCreate: true, kinds.BlobAppend: true, kinds.BlobStage: true, kinds.BlobCommit: true,
		kinds.BlobSetMetadata: true, kinds.BlobSetHeaders: true, kinds.BlobDelete: true, kinds.BlobLease: true,
		kinds.ContainerGet: false, kinds.ContainerList: false, kinds.BlobGet: false, kinds.BlobBlocks: false, kinds.BlobProperties: false, kinds.BlobList: false,
	} {
		if got := has(kind, storagetest.Twice()); got != want {
			t.Errorf("%s: got Twice %v; want %v", kind, got, want)
		}
		list := kind == kinds.ContainerList || kind == kinds.BlobList
		if got := has(kind, storagetest.ShortPage(1)); got != list {
			t.Errorf("%s: got ShortPage %v; want %v", kind, got, list)
		}
	}
}
