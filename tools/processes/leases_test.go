package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/table"
)

// counter is a number that holders of a lease change, each from what it has read when it has entered the partition. Nothing but the guard protects it.
type counter struct {
	Group, ID string
	N, Token  int64
}

var (
	counterGroup = keys.Partition(keys.Text(), func(c *counter) *string { return &c.Group })
	counterID    = keys.Row(keys.Text(), func(c *counter) *string { return &c.ID })
	counterKey   = keys.At(counterGroup.Of("g"), counterID.Of("counter"))
)

// leaseHolder is a process that stands for election until it is killed.
type leaseHolder struct {
	connection
	Name    string // of the table of counters, and with an l of that of leases
	Process int
}

// open returns the leases and the counters.
func (h leaseHolder) open() (*lease.Leases, *table.Table[table.Row], *table.Table[counter], error) {
	acc, err := h.connection.open()
	if err != nil {
		return nil, nil, nil, err
	}
	in := &host.Host{Account: acc, Tables: acc.Tables()}
	leases := lease.New(in, h.Name+"l", &lease.Options{TTL: 3 * time.Second, Owner: fmt.Sprint("process ", h.Process)})
	rows, err := bare.NewTable(acc.Tables(), h.Name+"l", table.Schema[table.Row]{}, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	counters, err := bare.NewTable(acc.Tables(), h.Name, table.Schema[counter]{Partition: counterGroup, Row: counterID}, &table.Options{BlindWrites: true})
	return leases, rows, counters, err
}

// runLeaseHolder is the program of a process. It prints each write that is acknowledged, and when it has lost its lease.
func runLeaseHolder(settings []byte) error {
	var h leaseHolder
	if err := json.Unmarshal(settings, &h); err != nil {
		return err
	}
	leases, _, counters, err := h.open()
	if err != nil {
		return err
	}
	ctx := inputContext()
	for ctx.Err() == nil {
		err := leases.Elect(ctx, "x", func(_ context.Context, held *lease.Lease) error { return count(ctx, counters, held) }) // whatever the lease says: the guard counts
		if errors.Is(err, lease.ErrLost) {
			fmt.Println("lost\n.") // and a line behind it, since the last one does not count
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

// count adds to the counter until a write fails. Each write also inserts a row.
func count(ctx context.Context, counters *table.Table[counter], held *lease.Lease) error {
	p, err := held.In(ctx, counters, counterGroup.Of("g"))
	if err != nil {
		return err
	}
	e, err := counters.Get(ctx, counterKey)
	if err != nil {
		return err
	}
	for n := e.Value.N + 1; ; n++ {
		id := fmt.Sprintf("w%d.%d", held.Fence(), n)
		_, err := table.Transact(ctx, p.Guard(),
			counters.UpsertOp(&counter{Group: "g", ID: "counter", N: n, Token: held.Fence()}, table.ReplaceExisting),
			counters.InsertOp(&counter{Group: "g", ID: id, N: n}))
		if err != nil {
			return err
		}
		fmt.Println("wrote", id)
		time.Sleep(5 * time.Millisecond) // leaves the processors to the tests beside this one
	}
}

// leaseSeconds is how long the processes fight.
var leaseSeconds = testkit.Count("leaseseconds", 8, "seconds for which the processes of TestLeases fight for a lease; 20 processes for a minute and longer")

// fight is what the processes have printed.
type fight struct {
	mu     sync.Mutex
	wrote  map[string]bool
	lost   int
	holder *process // that has written last
}

// note notes a line of a process, the last of which may be cut.
func (f *fight) note(p *process, line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var id string
	if line == "lost" {
		f.lost++
	} else if _, err := fmt.Sscanf(line, "wrote %s\n", &id); err == nil {
		f.wrote[id] = true
		f.holder = p
	}
}

// fighter is a running process.
type fighter struct {
	*process
	ended   chan error
	stopped int // the second after that in which it was stopped; 0 if it is awake
}

// awake returns the processes that are awake, and the holder alone if it is awake and its turn comes, which it does in three of four seconds.
func (f *fight) awake(all []*fighter, second int) (indexes []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, a := range all {
		switch {
		case a.stopped != 0:
		case a.process == f.holder && second%4 != 3:
			return []int{i}
		default:
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// start starts a process, and notes the whole lines that it prints.
func (f *fight) start(h leaseHolder) (*fighter, error) {
	p, err := start("lease holder", h)
	if err != nil {
		return nil, err
	}
	a := &fighter{process: p, ended: make(chan error, 1)}
	go func() {
		last := ""
		for p.lines.Scan() {
			f.note(p, last)
			last = p.lines.Text()
		}
		if !p.killed.Load() {
			f.note(p, last)
		}
		a.ended <- p.wait()
	}()
	return a, nil
}

// TestLeases: processes fight for a lease. Each second one of them, often the holder, is stopped (SIGSTOP), goes on some seconds later, or is killed and replaced. The
// counter has counted all writes, although each holder writes what it has counted itself, and its token never goes back.
func TestLeases(t *testing.T) {
	t.Parallel()
	n := 5
	if *leaseSeconds >= 60 {
		n = 20
	}
	h := leaseHolder{service, freshName(), 0}
	_, rows, counters, err := h.open()
	must(t, err)
	ctx := context.Background()
	must(t, tabledoor.Ensure(ctx, rows))
	must(t, tabledoor.Ensure(ctx, counters))
	_, err = counters.Insert(ctx, &counter{Group: "g", ID: "counter"})
	must(t, err)
	f := &fight{wrote: map[string]bool{}}
	all := make([]*fighter, n)
	begin := func(i int) {
		h.Process++
		all[i], err = f.start(h)
		must(t, err)
	}
	stop := func(a *fighter) {
		a.kill()
		if err := <-a.ended; err != nil {
			t.Errorf("process: got error %v; want it killed", err)
		}
	}
	for i := range all {
		begin(i)
	}
	defer func() {
		for _, a := range all {
			a.kill()
		}
	}()
	tokens := map[int64]bool{}
	var last counter
	look := func() {
		e, err := counters.Get(ctx, counterKey)
		must(t, err)
		if e.Value.Token < last.Token || e.Value.N < last.N {
			t.Errorf("got counter %+v after %+v; want one that grows", e.Value, last)
		}
		last = e.Value
		tokens[last.Token] = true
	}
	seconds := *leaseSeconds
	for s := range seconds {
		for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			look()
		}
		awake := f.awake(all, s)
		i := awake[rand.IntN(len(awake))]
		if s%2 == 0 {
			must(t, all[i].cmd.Process.Signal(syscall.SIGSTOP))
			all[i].stopped = s + 1
		} else {
			stop(all[i])
			begin(i)
		}
		for _, a := range all {
			if a.stopped != 0 && s >= a.stopped+5 { // another one has the lease by now
				must(t, a.cmd.Process.Signal(syscall.SIGCONT))
				a.stopped = 0
			}
		}
	}
	for _, a := range all { // the sleepers wake, and what they write is refused
		must(t, a.cmd.Process.Signal(syscall.SIGCONT))
	}
	time.Sleep(500 * time.Millisecond)
	for _, a := range all {
		stop(a)
	}
	look()
	f.expect(t, counters, last, h.Process)
	t.Logf("%d writes of %d holders and %d processes in %d s; %d leases were lost", last.N, len(tokens), h.Process, seconds, f.lost)
}

// expect compares the counter with the rows that were inserted, and these with what was acknowledged.
func (f *fight) expect(t *testing.T, counters *table.Table[counter], last counter, processes int) {
	t.Helper()
	stored := map[string]bool{}
	for e, err := range counters.List(context.Background(), table.Query[counter]{Partition: counterGroup.Of("g")}) {
		must(t, err)
		if e.Value.ID != "counter" {
			stored[e.Value.ID] = true
		}
	}
	if int64(len(stored)) != last.N || last.N == 0 {
		t.Errorf("got counter %d and %d writes; want as many", last.N, len(stored))
	}
	for id := range f.wrote {
		if !stored[id] {
			t.Errorf("got no row of write %s; want it: it was acknowledged", id)
		}
	}
	if most := 2 * processes; len(stored) > len(f.wrote)+most { // a killed process may have written once more, and its last line may be cut
		t.Errorf("got %d writes, %d of them acknowledged; want at most %d others", len(stored), len(f.wrote), most)
	}
}
