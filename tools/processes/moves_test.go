package processes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// processKills is how many processes TestKill kills. The default kills at the first and second request of each position, before and after it.
var processKills = testkit.Count("kills", 28, "processes that TestKill kills")

// processPool replaces processes that are killed at chosen positions.
type processPool struct {
	process moverProcess // as each process opens it

	mu       sync.Mutex
	kills    int // that remain
	nextKill int // index of the position of the next kill
	killed   map[string]int
	err      error
}

// work keeps one process running, until all kills are done and ctx ends.
func (c *processPool) work(ctx context.Context) {
	for {
		c.mu.Lock()
		mp := c.process
		if c.kills > 0 {
			c.kills--
			mp.Target = []string{"before ", "after "}[c.nextKill%2] + positions[c.nextKill/2%len(positions)]
			mp.Visits = int64(1 + c.nextKill/(2*len(positions))%3)
			c.nextKill++
		}
		c.mu.Unlock()
		target := mp.Target
		at, err := c.runProcess(ctx, mp)
		c.mu.Lock()
		if at != "" {
			c.killed[at]++
		} else if target != "" && ctx.Err() == nil && err == nil {
			err = fmt.Errorf("a process ended before it was killed at %s", target)
		}
		if err != nil {
			c.err = errors.Join(c.err, err)
		}
		c.mu.Unlock()
		if target == "" || err != nil || ctx.Err() != nil {
			return
		}
	}
}

// runProcess runs one process. It returns the position at which the process was killed, "" for none.
func (c *processPool) runProcess(ctx context.Context, mp moverProcess) (at string, err error) {
	p, err := start("mover", mp)
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, p.end)()
	if p.lines.Scan() { // the process has reached its position, and waits
		at = p.lines.Text()
		p.kill()
	}
	return at, p.wait()
}

// TestKill: processes that move entities are killed again and again, at each request of a move. Every entity is archived once, and
// no work is left.
func TestKill(t *testing.T) {
	t.Parallel()
	entities, kills := 4**processKills, *processKills
	if testing.Short() {
		entities, kills = 60, 14
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // of a machine with much other work
	defer cancel()
	mp := &moverProcess{connection: service, Name: freshName()}
	must(t, mp.connect())
	own, err := mp.worker()
	must(t, err)
	must(t, errors.Join(tabledoor.Ensure(ctx, mp.current), mp.old.Ensure(ctx), own.Ensure(ctx)))
	start := time.Now()
	killable := *mp
	killable.WriteTimeout = 2 * time.Second
	pool := &processPool{process: killable, kills: kills, killed: map[string]int{}}
	working, ends := context.WithCancel(ctx)
	defer ends()
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() { pool.work(working) })
	}
	for i := range entities {
		x, err := mp.current.Insert(ctx, &item{fmt.Sprint("g", i%20), i, fmt.Sprint("text ", i)})
		must(t, err)
		must(t, mp.mover.Archive(ctx, x))
	}
	// The processes need work until the last of them is killed.
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	more := entities
	for left := 1; left > 0; {
		select {
		case <-ctx.Done():
			t.Fatalf("got %d messages after five minutes; want none", left)
		case <-tick.C:
		}
		due := kills
		pool.mu.Lock()
		if pool.err != nil {
			defer pool.mu.Unlock()
			t.Fatal(pool.err)
		}
		for _, n := range pool.killed {
			due -= n
		}
		pool.mu.Unlock()
		left, err = own.Backlog(ctx)
		must(t, err)
		if left == 0 && due > 0 {
			x, err := mp.current.Insert(ctx, &item{"more", more, fmt.Sprint("text ", more)})
			must(t, err)
			must(t, mp.mover.Archive(ctx, x))
			more++
			left = 1
		}
	}
	ends()
	running.Wait()
	must(t, pool.err)
	checkAllArchived(t, mp, more)
	var counts []string
	total := 0
	for at, n := range pool.killed {
		counts = append(counts, fmt.Sprintf("%s: %d", at, n))
		total += n
	}
	slices.Sort(counts)
	if total != kills || len(pool.killed) < min(kills, 2*len(positions)) {
		t.Errorf("got %d killed processes at %d positions; want %d at %d", total, len(pool.killed), kills, 2*len(positions))
	}
	t.Logf("%d entities moved, %d processes killed, in %v; %d more entities as work for all: %s", entities, total, time.Since(start).Round(time.Second/10), more-entities, strings.Join(counts, ", "))
}

// checkAllArchived fails the test unless the destination contains items 0 to n-1 once, and no work is left.
func checkAllArchived(t *testing.T, mp *moverProcess, n int) {
	ctx := context.Background()
	for x, err := range mp.current.List(ctx, table.Query[item]{TableScan: true}) {
		must(t, err)
		t.Errorf("table current: got %v; want it moved", x.Key)
	}
	seen := map[int]int{}
	rows, err := bare.NewTable(mp.acc.Tables(), mp.Name+"o", table.Schema[table.Row]{}, nil)
	must(t, err)
	for x, err := range rows.List(ctx, table.Query[table.Row]{TableScan: true}) {
		must(t, err)
		var id int
		_, err = fmt.Sscanf(x.Key.RowKey(), "m_%06d~", &id)
		must(t, err)
		seen[id]++
		if text, _ := x.Value.Get("Text"); text != fmt.Sprint("text ", id) {
			t.Errorf("archived row %v: got text %v; want text %d", x.Key, text, id)
		}
	}
	for id := range n {
		if seen[id] != 1 {
			t.Errorf("archived entity %d: got %d rows; want 1", id, seen[id])
		}
	}
	if len(seen) != n {
		t.Errorf("got %d archived entities; want %d", len(seen), n)
	}
	groups := map[string]bool{}
	for id := range n {
		groups[fmt.Sprint("g", id%20)], groups["more"] = true, true
	}
	for g := range groups {
		for i, err := range records.Of(mp.current).List(ctx, keys.RawPartition(g), time.Now().Add(time.Hour)) {
			must(t, err)
			if i.State == commit.Pending {
				t.Errorf("commit record %s of partition %s: got state pending; want done", i.OperationID, g)
			}
		}
	}
	for _, q := range []string{"q", "p"} {
		props, err := mp.acc.Queues().NewQueueClient(mp.Name+q).GetProperties(ctx, nil)
		must(t, err)
		if n := *props.ApproximateMessagesCount; n != 0 {
			t.Errorf("queue %s: got %d messages; want none", q, n)
		}
	}
}
