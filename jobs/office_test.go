package jobs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

type clerk struct {
	Dept string
	ID   int
	Last string
	Paid int
}

var (
	dept  = keys.Partition(keys.Text(), func(c *clerk) *string { return &c.Dept })
	empid = keys.Row(keys.Digits[int](6).Named("empid"), func(c *clerk) *int { return &c.ID })
	last  = table.FieldOf(func(c *clerk) *string { return &c.Last })
)

// office is a program with the jobs of the tests: one of several on one account.
type office struct {
	store *aztablekit.Store
	staff *table.Table[clerk]
	raise *jobs.Job[clerk, int]
	purge *jobs.Job[clerk, string]
	moves *jobs.Job[clerk, string]
	check *jobs.Job[clerk, jobs.Verification]
	whole *jobs.Job[clerk, struct{}] // work on whole partitions
	mover *archive.Mover[clerk]

	export *jobs.Job[clerk, struct{}]
	folder string

	limited *jobs.Job[clerk, struct{}] // a mistake

	mu   sync.Mutex
	seen map[string]int // how often each clerk was worked on, or each partition
	do   func(page []*table.Entity[clerk]) error
	took time.Duration // of a page, or a piece of a partition

	pieces int    // of a partition
	piece  func() // is called after each
	wrong  func(pass func(keys.PartitionKey) error)
	page   int                // clerks
	query  table.Query[clerk] // of raise
}

func newOffice(acc aztablekit.Account, c *table.Common) *office {
	o := &office{seen: map[string]int{}, page: 10}
	var common table.Common
	if c != nil {
		common = *c
	}
	o.store = aztablekit.Open(acc, "office", &aztablekit.Options{Daily: -1, Worker: eventual.WorkerOptions{Concurrency: 2, PerPartition: 2, StopTimeout: time.Second}, Common: common})
	o.raise = jobs.Rows("raise", func(int) table.Query[clerk] { q := o.query; q.PageSize = o.page; return q },
		func(ctx context.Context, s *jobs.Slice[clerk], page []*table.Entity[clerk], percent int) error {
			time.Sleep(o.took)
			o.mu.Lock()
			defer o.mu.Unlock()
			for _, e := range page {
				o.seen[e.Key.String()]++
			}
			s.Count(0, len(page)*percent, 0)
			if o.do != nil {
				return o.do(page)
			}
			return ctx.Err()
		})
	named := func(name string) table.Query[clerk] {
		return table.Query[clerk]{Where: last.Eq(name), PageSize: o.page}
	}
	o.purge = jobs.Delete("purge", named)
	o.mover = archive.Into[clerk]("former", archive.ToTable("former", nil))
	o.moves = jobs.Archive("moves", o.mover, named)
	o.check = jobs.Repair[clerk]("check")
	o.whole = jobs.New("whole", func(ctx context.Context, s *jobs.Slice[clerk], _ struct{}) error {
		if o.wrong != nil {
			o.wrong(func(pk keys.PartitionKey) error { return s.Passed(ctx, pk) })
			return nil
		}
		for pk, err := range s.Table.Partitions(ctx, s.Partitions) {
			if err != nil {
				return err
			}
			for range max(o.pieces, 1) {
				time.Sleep(o.took)
				if o.piece != nil {
					o.piece()
				}
				if err := s.Check(ctx); err != nil && o.pieces > 1 {
					return err
				}
			}
			o.mu.Lock()
			o.seen[pk.String()]++
			o.mu.Unlock()
			s.Count(1, 0, 0)
			if err := s.Passed(ctx, pk); err != nil {
				return err
			}
		}
		return nil
	})
	o.export = jobs.Export[clerk]("export", func(name string) transfer.Place { return transfer.Folder(filepath.Join(o.folder, name)) })
	o.limited = jobs.Delete("limited", func(struct{}) table.Query[clerk] { return table.Query[clerk]{Limit: 1} })
	byLast := index.New("last", keys.Text(), func(c *clerk) (string, bool) { return c.Last, c.Last != "" }, nil)
	o.staff = aztablekit.Table(o.store, "staff", dept, empid, byLast, o.raise, o.purge, o.mover, o.moves, o.check, o.whole, o.export, o.limited)
	return o
}

// ensure creates the tables, with n clerks in each of some departments.
func (o *office) ensure(ctx context.Context, departments, n int) error {
	if err := o.store.Ensure(ctx); err != nil {
		return err
	}
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for d := range departments {
			for i := range n {
				if !yield(o.staff.InsertOp(&clerk{Dept: fmt.Sprintf("dept%03d", d), ID: i, Last: fmt.Sprint("Name", i%7)}), nil) {
					return
				}
			}
		}
	}, nil)
	return err
}

// inOffice runs a test in a bubble, in which waiting takes no time, with clerks.
func inOffice(t *testing.T, departments, n int, test func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storagetest.New(nil)
		o := newOffice(s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		testkit.NoError(t, o.ensure(ctx, departments, n))
		test(t, ctx, s, o)
		cancel()
		synctest.Wait()
	})
}
