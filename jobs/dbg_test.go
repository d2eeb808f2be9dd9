package jobs_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

func TestDbg(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storagetest.New(nil)
		o := newOffice(s, slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug})))
		ctx, cancel := context.WithCancel(t.Context())
		testkit.NoError(t, o.ensure(ctx, 60, 50))
		o.took = 200 * time.Millisecond
		testkit.NoError(t, o.raise.Start(ctx, "2026", 1, nil))
		rctx, stop := context.WithTimeout(ctx, 100*time.Second)
		defer stop()
		testkit.NoError(t, o.store.Run(rctx))
		fmt.Println(o.raise.Status(ctx, "2026"))
		for _, r := range s.Rows("staffjobs") {
			fmt.Println(r.RowKey, r.Properties)
		}
		cancel()
		synctest.Wait()
	})
}
