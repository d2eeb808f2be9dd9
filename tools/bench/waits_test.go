package main

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit/internal/testkit"
)

// TestWaits: each measurement of a wait runs, and waits for the service. The time is that of a bubble.
func TestWaits(t *testing.T) {
	t.Parallel()
	const n = 30
	for name, measure := range map[string]func(context.Context) (float64, error){
		"upserts of existing rows": func(ctx context.Context) (float64, error) { return bulkUpserts(ctx, n, true) },
		"upserts of new rows":      func(ctx context.Context) (float64, error) { return bulkUpserts(ctx, n, false) },
		"groups":                   func(ctx context.Context) (float64, error) { return bulkGroups(ctx, n) },
		"shared rows": func(ctx context.Context) (float64, error) {
			took, _, err := bulkShared(ctx, n, sharedByThree()...)
			return took, err
		},
		"transaction":               func(ctx context.Context) (float64, error) { took, err := transactUpserts(ctx); return took / 1000, err },
		"messages of one partition": func(ctx context.Context) (float64, error) { took, err := work(ctx, n, 1); return took.Seconds(), err },
		"messages of partitions":    func(ctx context.Context) (float64, error) { took, err := work(ctx, n, n); return took.Seconds(), err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				took, err := measure(context.Background())
				if err != nil || took < serviceDelay.Seconds() {
					t.Errorf("got %v s, error %v; want at least one request, of %v", took, err, serviceDelay)
				}
			})
		})
	}
}

// TestBulkShared: a list and a summary make a load by bulk 1.3 times as long at most over a slow service: each shared row is read once.
// The time is that of a bubble, in which only the service takes time.
func TestBulkShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		long, reads, err := bulkShared(context.Background(), n, sharedByThree()...)
		testkit.NoError(t, err)
		plain, _, err := bulkShared(context.Background(), n)
		testkit.NoError(t, err)
		t.Logf("%.2f s with a list and a summary, %.2f s without: %.2f; %v reads of each shared row", long, plain, long/plain, reads)
		if long/plain > 1.3 || reads != 1 {
			t.Errorf("got %.2f times as long, %v reads of each shared row; want 1.3 at most, 1", long/plain, reads)
		}
	})
}

// TestConnections: the measurements over a port run, and count connections. Here the service takes no time.
func TestConnections(t *testing.T) {
	t.Parallel()
	opened, _, err := bursts(context.Background(), 3, 4, 0)
	testkit.NoError(t, err)
	if opened > 8 {
		t.Errorf("got %v connections for two bursts of 4 reads; want at most 8", opened)
	}
	_, opened, err = pointReads(context.Background(), 20, 0)
	testkit.NoError(t, err)
	if opened < 1 {
		t.Errorf("got %v connections; want at least 1", opened)
	}
}

// TestKept: a kept entity is measured. Other tests share the heap, so that only the measurement's own checks count here.
func TestKept(t *testing.T) {
	t.Parallel()
	if _, err := keep(context.Background(), 3); err != nil {
		t.Errorf("got error %v; want none", err)
	}
}
