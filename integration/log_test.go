package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
)

// event is the record type of the log tests.
type event struct {
	Process, Number int
}

// logs: records are appended, read newest first, by time and in pages, and followed from a stored token, in one partition or several.
func logs(e *env) {
	ctx := context.Background()
	for _, spread := range []int{1, 4} {
		events, err := logtail.New[event](e.tables, freshName(), &logtail.Options{Spread: spread})
		e.must(err)
		e.must(events.Ensure(ctx))
		source := events.In(keys.Tuple1(keys.Text()).Of("größe/../1")) // a key that is escaped
		e.counter.Take()
		first, err := source.Append(ctx, &event{0, 0})
		e.must(err)
		e.wantRequests("1 insert")
		var more []*event
		for i := range 1200 {
			more = append(more, &event{0, i + 1})
		}
		_, err = source.AppendAll(ctx, more...)
		e.must(err)
		e.wantRequests("12 transaction")
		want := 1200
		for r, err := range source.Tail(ctx, 5) {
			e.must(err)
			if r.Value.Number != want {
				e.Errorf("Tail, spread over %d: got event %d; want %d", spread, r.Value.Number, want)
			}
			want--
		}
		if want != 1195 {
			e.Errorf("Tail, spread over %d: got %d events; want 5", spread, 1200-want)
		}
		e.wantRequests(fmt.Sprint(spread, " query"))
		n := 0
		for _, err := range source.Between(ctx, first.Time, first.Time.Add(time.Hour)) {
			e.must(err)
			n++
		}
		if n != 1201 {
			e.Errorf("Between, spread over %d: got %d events; want 1201", spread, n)
		}
		token, next := "", 0
		for next < 1201 {
			cursor := logtail.NewCursor(token)
			for r, err := range source.Follow(ctx, cursor) {
				if e.must(err); r.Value.Number != next {
					e.Fatalf("Follow, spread over %d: got event %d; want %d", spread, r.Value.Number, next)
				}
				if next++; next%400 == 0 || next == 1201 {
					break
				}
			}
			token = cursor.Token()
		}
	}
}

// logWriter is a process that appends to a log until it is killed.
type logWriter struct {
	Connection, Name string
	ASCII            bool
	Process          int
}

// logWriterEnv is the environment variable that makes a process of this test a writer.
const logWriterEnv = "AZTABLEKIT_LOGWRITER"

// runLogWriter is the main function of such a process. It prints each event that is acknowledged.
func runLogWriter(text string) int {
	var w logWriter
	err := json.Unmarshal([]byte(text), &w)
	var events *logtail.Log[event]
	if err == nil {
		events, err = w.open()
	}
	for n := 0; err == nil; {
		batch := []*event{{w.Process, n}}
		if rand.IntN(4) == 0 {
			batch = append(batch, &event{w.Process, n + 1}, &event{w.Process, n + 2})
		}
		if len(batch) == 1 {
			_, err = events.Append(context.Background(), batch[0])
		} else {
			_, err = events.AppendAll(context.Background(), batch...)
		}
		if err == nil {
			n += len(batch)
			fmt.Println(w.Process, n)        // all events below n are acknowledged
			time.Sleep(5 * time.Millisecond) // leaves the processors to the tests beside this one
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func (w logWriter) open() (*logtail.Log[event], error) {
	o := &account.Options{}
	if w.ASCII {
		o.Client.PerCallPolicies = append(o.Client.PerCallPolicies, azurite.ASCII{})
	}
	acc, err := account.FromConnectionString(w.Connection, o)
	if err != nil {
		return nil, err
	}
	return logtail.New[event](acc.Tables(), w.Name, &logtail.Options{Spread: 4})
}

// logSeconds is how long the writers append. A twelfth of the time passes from one kill to the next.
var logSeconds = testkit.Count("logseconds", 6, "seconds for which the writers of TestLogWriters append")

// TestLogWriters: 8 processes append to a log, one of which is killed again and again and replaced. A follower sees each acknowledged
// record once, and the records of a writer in their order.
func TestLogWriters(t *testing.T) {
	t.Parallel()
	onOneBackend(t, testLogWriters)
}

func testLogWriters(t *testing.T, b backend) {
	length := time.Duration(*logSeconds) * time.Second
	if testing.Short() {
		length /= 3
	}
	w := logWriter{b.ConnectionString(), freshName(), isAzurite(b), 0}
	events, err := w.open()
	noError := testkit.NoError
	noError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), length+time.Minute)
	noError(t, events.Ensure(ctx))
	acknowledged := &acknowledgedEvents{below: map[int]int{}}
	var processes []*logProcess
	start := func() {
		w.Process++
		p, err := acknowledged.start(w)
		if err != nil {
			t.Errorf("process %d: got error %v; want it started", w.Process, err)
			cancel()
			return
		}
		processes = append(processes, p)
	}
	stop := func(p *logProcess) {
		p.cmd.Process.Signal(syscall.SIGKILL)
		<-p.ended
	}
	for range 8 {
		start()
	}
	// When all writers are killed, a last event makes the follower look whether it has all others.
	last := func() {
		_, err := events.Append(ctx, &event{0, rand.Int()})
		if err != nil {
			t.Errorf("last event: got error %v; want none", err)
		}
	}
	killed := make(chan bool)
	go func() {
		defer close(killed)
		kills := time.NewTicker(length / 12)
		defer kills.Stop()
		for n := 0; n < 12 && ctx.Err() == nil; n++ {
			select {
			case <-kills.C:
			case <-ctx.Done():
			}
			if n < 11 && ctx.Err() == nil {
				stop(processes[len(processes)-8])
				start()
			}
		}
		for _, p := range processes {
			stop(p)
		}
		if ctx.Err() == nil {
			last()
		}
	}()
	t.Cleanup(func() { cancel(); <-killed })
	got := map[event]int{}
	next := map[string]int64{}
	for r, err := range events.Follow(ctx, logtail.NewCursor("")) {
		if err != nil {
			t.Fatalf("Follow: got error %v, with %d acknowledged events missing; want none", err, acknowledged.missing(got))
		}
		if got[r.Value]++; got[r.Value] > 1 {
			t.Errorf("event %v: got it %d times; want once", r.Value, got[r.Value])
		}
		if was := next[r.Writer]; r.Sequence < was {
			t.Errorf("writer %s: got record %d after %d; want the order of the writer", r.Writer, r.Sequence, was-1)
		}
		next[r.Writer] = r.Sequence + 1
		if r.Value.Process == 0 {
			if acknowledged.missing(got) == 0 {
				break
			}
			last()
		}
	}
	t.Logf("%d events of %d processes, followed in %v", len(got), acknowledged.processes(), length)
}

// acknowledgedEvents is what the processes have printed.
type acknowledgedEvents struct {
	mu    sync.Mutex
	below map[int]int // for each process, the number of its first event that is not acknowledged
}

// missing returns how many acknowledged events are not in got.
func (a *acknowledgedEvents) missing(got map[event]int) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for process, below := range a.below {
		for i := range below {
			if got[event{process, i}] == 0 {
				n++
			}
		}
	}
	return n
}

// processes returns how many processes have acknowledged an event.
func (a *acknowledgedEvents) processes() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.below)
}

// logProcess is a running writer.
type logProcess struct {
	cmd   *exec.Cmd
	ended chan bool // closed when all that it printed is read
}

// start starts a writer, and notes what it prints.
func (a *acknowledgedEvents) start(w logWriter) (*logProcess, error) {
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &logProcess{exec.Command(self, "-test.run=^$"), make(chan bool)}
	p.cmd.Env = append(os.Environ(), logWriterEnv+"="+string(text))
	var errs strings.Builder
	p.cmd.Stderr = &errs
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		a.read(out)
		p.cmd.Wait()
	}()
	return p, nil
}

func (a *acknowledgedEvents) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var process, below int
		if _, err := fmt.Sscan(lines.Text(), &process, &below); err == nil {
			a.mu.Lock()
			a.below[process] = below
			a.mu.Unlock()
		}
	}
}
