package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// mark is an entity that is moved.
type item struct {
	Group string
	ID    int
	Text  string
}

var itemSchema = table.Schema[item]{
	Partition: keys.Bind1(keys.Tuple1(keys.Text()), func(m *item) *string { return &m.Group }),
	Row:       keys.Bind1(keys.Tuple1(keys.Digits[int](6)).Named("m"), func(m *item) *int { return &m.ID }),
}

// factory is what a process that moves marks has, by its names.
type moverProcess struct {
	Connection, Name string
	ASCII            bool
	Target           string // where the process is to be killed, "" for nowhere
	Visits           int64  // how often it comes there

	acc     *account.Account
	current *table.Table[item]
	old     *archive.TableDestination
	mover   *archive.Mover[item]
}

// factoryEnv tells a process of this test that it is a worker, and where.
const moverEnv = "AZTABLEKIT_FACTORY"

func (mp *moverProcess) connect(more ...policy.Policy) error {
	o := &account.Options{}
	if mp.ASCII {
		o.Client.PerCallPolicies = append(o.Client.PerCallPolicies, azurite.ASCII{})
	}
	o.Client.PerRetryPolicies = more
	var err error
	if mp.acc, err = account.FromConnectionString(mp.Connection, o); err != nil {
		return err
	}
	// Deadlines are short, so that what a dead process has announced is seen soon.
	opt := &table.Options{Common: table.Common{WriteTimeout: 2 * time.Second}}
	if mp.current, err = table.New(mp.acc.Tables(), mp.Name+"c", itemSchema, opt); err != nil {
		return err
	}
	if mp.old, err = archive.ToTable(mp.acc.Tables(), mp.Name+"o", opt); err != nil {
		return err
	}
	out, err := eventual.NewOutbox(mp.acc.Queue(mp.Name+"q"), &eventual.OutboxOptions{Common: opt.Common})
	if err != nil {
		return err
	}
	mp.mover, err = archive.New("marks", mp.current, mp.old, out)
	return err
}

func (mp *moverProcess) worker() (*eventual.Worker, error) {
	return eventual.NewWorker(mp.acc.Queue(mp.Name+"q"), mp.acc.Queue(mp.Name+"p"), []eventual.Handler{mp.mover.Handler()}, &eventual.WorkerOptions{
		Concurrency: 4, Visibility: 2 * time.Second, Idle: 200 * time.Millisecond, Wait: time.Second, MaxWait: 2 * time.Second, Attempts: 100,
	})
}

// telling says at which request of a move a process is, before and after, when it has come to where it is to be killed, and stays there.
type positionReporter struct {
	process   *moverProcess
	remaining atomic.Int64 // times that it comes there
}

func (t *positionReporter) Do(r *policy.Request) (*http.Response, error) {
	at := t.process.position(r.Raw())
	t.report("before " + at)
	resp, err := r.Next()
	t.report("after " + at)
	return resp, err
}

func (t *positionReporter) report(at string) {
	if at == t.process.Target && t.remaining.Add(-1) == 0 {
		fmt.Println(at)
		select {}
	}
}

// positions are the requests of a move, in order.
var positions = []string{"message", "intent", "destination", "entity", "put", "deletion", "end"}

func (mp *moverProcess) position(r *http.Request) string {
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/messages"):
		return "message"
	case strings.Contains(path, "/messages/"):
		return "end"
	case strings.Contains(path, "RowKey='~i|"):
		return "intent"
	case strings.Contains(path, mp.Name+"o("):
		return "destination"
	case strings.Contains(path, mp.Name+"c("):
		return "entity"
	}
	b, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(b)))
	if strings.Contains(string(b), mp.Name+"o") {
		return "put"
	}
	return "deletion"
}

// workInFactory is what such a process does: it works until its input ends, or until it is killed.
func runMoverProcess(text string) int {
	var mp moverProcess
	err := json.Unmarshal([]byte(text), &mp)
	if err == nil {
		at := &positionReporter{process: &mp}
		at.remaining.Store(mp.Visits)
		err = mp.connect(at)
	}
	if err == nil {
		var w *eventual.Worker
		if w, err = mp.worker(); err == nil {
			ctx, cancel := context.WithCancel(context.Background())
			go func() { io.Copy(io.Discard, os.Stdin); cancel() }()
			err = w.Run(ctx)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// crew are processes that are killed at chosen positions, and replaced.
type processPool struct {
	process moverProcess // as each process has it

	mu       sync.Mutex
	kills    int // that are still to come
	nextKill int // position of the next one
	killed   map[string]int
	err      error
}

// work keeps one process working, until all kills have been made and its input ends.
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
			err = fmt.Errorf("a process has ended by itself before it was killed at %s", target)
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

// life is one process. It returns where it was when it was killed.
func (c *processPool) runProcess(ctx context.Context, mp moverProcess) (at string, err error) {
	text, err := json.Marshal(mp)
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), moverEnv+"="+string(text))
	var errs strings.Builder
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { in.Close() })
	defer stop()
	if lines := bufio.NewScanner(out); lines.Scan() { // it is there, and waits
		at = lines.Text()
		cmd.Process.Signal(syscall.SIGKILL)
	}
	err = cmd.Wait()
	var ee *exec.ExitError
	if errors.As(err, &ee) && !ee.Exited() && at != "" {
		return at, nil
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, errs.String())
	}
	return "", err
}

// TestKill: processes that move entities are killed by the system, again and again, at each request of a move: every entity is archived,
// once, and nothing else is left.
func TestKill(t *testing.T) {
	t.Parallel()
	entities, kills := 300, 50
	if testing.Short() {
		entities, kills = 60, 14
	}
	for _, b := range backends {
		if b.Name() != "azurite" && !testing.Short() {
			continue
		}
		e := newEnv(t, b)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		mp := &moverProcess{Connection: b.ConnectionString(), Name: e.freshName(), ASCII: b.Name() == "azurite"}
		e.must(mp.connect())
		own, err := mp.worker()
		e.must(err)
		e.must(errors.Join(mp.current.Ensure(ctx), mp.old.Ensure(ctx), own.Ensure(ctx)))
		start := time.Now()
		c := &processPool{process: *mp, kills: kills, killed: map[string]int{}}
		working, ends := context.WithCancel(ctx)
		defer ends()
		var crew sync.WaitGroup
		for range 4 {
			crew.Go(func() { c.work(working) })
		}
		for i := range entities {
			x, err := mp.current.Insert(ctx, &item{fmt.Sprint("g", i%20), i, fmt.Sprint("text ", i)})
			e.must(err)
			e.must(mp.mover.Archive(ctx, x))
		}
		// There is work for the processes until the last of them was killed.
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		more := entities
		for left := 1; left > 0; {
			select {
			case <-ctx.Done():
				e.Fatalf("got %d messages after a minute; want none", left)
			case <-tick.C:
			}
			due := kills
			c.mu.Lock()
			if c.err != nil {
				defer c.mu.Unlock()
				e.Fatal(c.err)
			}
			for _, n := range c.killed {
				due -= n
			}
			c.mu.Unlock()
			left, err = own.Backlog(ctx)
			e.must(err)
			if left == 0 && due > 0 {
				x, err := mp.current.Insert(ctx, &item{"more", more, fmt.Sprint("text ", more)})
				e.must(err)
				e.must(mp.mover.Archive(ctx, x))
				more++
				left = 1
			}
		}
		ends()
		crew.Wait()
		e.must(c.err)
		checkAllArchived(e, mp, more)
		var histogram []string
		total := 0
		for at, n := range c.killed {
			histogram = append(histogram, fmt.Sprintf("%s: %d", at, n))
			total += n
		}
		slices.Sort(histogram)
		if total != kills || len(c.killed) < min(kills, 2*len(positions)) {
			t.Errorf("got %d killed processes at %d positions; want %d at %d", total, len(c.killed), kills, 2*len(positions))
		}
		t.Logf("%d entities were moved by processes of which %d were killed, in %v, and %d more to have work for all: %s", entities, total, time.Since(start).Round(time.Second/10), more-entities, strings.Join(histogram, ", "))
	}
}

// archived tells whether all marks are in the archive, each once and whole, and nothing is left to do.
func checkAllArchived(e *env, mp *moverProcess, n int) {
	ctx := context.Background()
	for x, err := range mp.current.List(ctx, table.Query[item]{TableScan: true}) {
		e.must(err)
		e.Errorf("table current: got %v; want it moved", x.Key)
	}
	seen := map[int]int{}
	rows, err := table.New(mp.acc.Tables(), mp.Name+"o", table.Schema[table.Row]{}, nil)
	e.must(err)
	for x, err := range rows.List(ctx, table.Query[table.Row]{TableScan: true}) {
		e.must(err)
		var id int
		_, err = fmt.Sscanf(x.Key.RowKey(), "m_%06d~", &id)
		e.must(err)
		seen[id]++
		if text, _ := x.Value.Get("Text"); text != fmt.Sprint("text ", id) {
			e.Errorf("archived row %v: got text %v; want text %d", x.Key, text, id)
		}
	}
	for id := range n {
		if seen[id] != 1 {
			e.Errorf("archived entity %d: got %d rows; want 1", id, seen[id])
		}
	}
	if len(seen) != n {
		e.Errorf("got %d archived entities; want %d", len(seen), n)
	}
	groups := map[string]bool{}
	for id := range n {
		groups[fmt.Sprint("g", id%20)], groups["more"] = true, true
	}
	for g := range groups {
		for i, err := range mp.current.CommitRecords().List(ctx, keys.Raw(g), time.Now().Add(time.Hour)) {
			e.must(err)
			if i.State == table.CommitPending {
				e.Errorf("commit record %s of partition %s: got state pending; want done", i.OperationID, g)
			}
		}
	}
	for _, q := range []string{"q", "p"} {
		props, err := mp.acc.Queue(mp.Name+q).GetProperties(ctx, nil)
		e.must(err)
		if n := *props.ApproximateMessagesCount; n != 0 {
			e.Errorf("queue %s: got %d messages; want none", q, n)
		}
	}
}
