package processes

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail"
)

// event is the record type of the log.
type event struct {
	Process, Number int
}

// logWriter is a process that appends to a log until it is killed.
type logWriter struct {
	connection
	Name    string
	Process int
}

// runLogWriter is the program of a writer. It prints each event that is acknowledged.
func runLogWriter(settings []byte) error {
	var w logWriter
	if err := json.Unmarshal(settings, &w); err != nil {
		return err
	}
	events, err := w.log(&baretest.Registry{})
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
	return err
}

func (w logWriter) log(declared *baretest.Registry) (*logtail.Log[event], error) {
	acc, err := w.open()
	if err != nil {
		return nil, err
	}
	return logtail.New[event](&host.Host{Tables: acc.Tables(), Registry: declared}, w.Name, &logtail.Options{Spread: 4}), nil
}

// logSeconds is how long the writers append. A twelfth of the time passes from one kill to the next.
var logSeconds = testkit.Count("logseconds", 4, "seconds for which the writers of TestLogWriters append")

// TestLogWriters: 8 processes append to a log, one of which is killed again and again and replaced. A follower sees each acknowledged
// record once, and the records of a writer in their order.
func TestLogWriters(t *testing.T) {
	t.Parallel()
	length := time.Duration(*logSeconds) * time.Second
	if testing.Short() {
		length /= 3
	}
	w := logWriter{service, freshName(), 0}
	var declared baretest.Registry
	events, err := w.log(&declared)
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), length+time.Minute)
	must(t, declared.Ensure(ctx))
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
		p.kill()
		if err := <-p.ended; err != nil {
			t.Errorf("writer: got error %v; want it killed", err)
		}
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
	for r, err := range events.Follow(ctx, logtail.NewCursor("", time.Time{})) {
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
	*process
	ended chan error // gets the error of the process when all that it printed is read
}

// start starts a writer, and notes what it prints.
func (a *acknowledgedEvents) start(w logWriter) (*logProcess, error) {
	p, err := start("log writer", w)
	if err != nil {
		return nil, err
	}
	writer := &logProcess{p, make(chan error, 1)}
	go func() {
		for p.lines.Scan() {
			a.note(p.lines.Text())
		}
		writer.ended <- p.wait()
		close(writer.ended)
	}()
	return writer, nil
}

// note notes a line of a writer, the last of which may be cut.
func (a *acknowledgedEvents) note(line string) {
	var process, below int
	if _, err := fmt.Sscan(line, &process, &below); err == nil {
		a.mu.Lock()
		a.below[process] = below
		a.mu.Unlock()
	}
}
