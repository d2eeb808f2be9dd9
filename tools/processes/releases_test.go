package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// member is the entity of the releases.
type member struct {
	Club   string
	Number int
	Name   string
}

var (
	club         = keys.Partition(keys.Text(), func(m *member) *string { return &m.Club })
	memberNumber = keys.Row(keys.Digits[int](8).Named("number"), func(m *member) *int { return &m.Number })
)

// released is a program of one of two releases, of which the newer one has two indexes. Its process writes until its input ends.
type released struct {
	connection
	Name  string
	Newer bool
	First int // of its numbers
	Lease time.Duration
}

// opened is what the program has opened.
type opened struct {
	store    *aztablekit.Store
	members  *table.Table[member]
	byName   *index.Index[member, string]
	byNumber *index.Unique[member, int]
}

func (r released) program() (*opened, error) {
	acc, err := r.open()
	if err != nil {
		return nil, err
	}
	o := &opened{store: aztablekit.Open(acc, r.Name, &aztablekit.Options{CatalogueAge: r.Lease})}
	var definitions []aztablekit.Definition[member]
	if r.Newer {
		o.byName = index.New("name", keys.Text(), func(m *member) (string, bool) { return m.Name, true }, &index.Options{Unique: true})
		o.byNumber = index.NewUnique("badge", keys.Digits[int](8), func(m *member) (int, bool) { return m.Number, true }, nil)
		definitions = append(definitions, o.byName, o.byNumber)
	}
	o.members = aztablekit.Table(o.store, r.Name, club, memberNumber, definitions...)
	return o, o.store.Err()
}

func numberedMember(n int) *member { return &member{"chess", n, fmt.Sprint("member", n)} }

// find looks a member up by both indexes. On a slow machine, responses can be later than the short lease of
// the test: these look-ups are repeated.
func (o *opened) find(ctx context.Context, n int) error {
	err := o.findOnce(ctx, n)
	for attempt := 1; attempt < 10 && errors.Is(err, table.ErrUnreachable); attempt++ {
		err = o.findOnce(ctx, n)
	}
	return err
}

func (o *opened) findOnce(ctx context.Context, n int) error {
	m, err := o.byName.Get(ctx, o.members, club.Of("chess"), numberedMember(n).Name)
	if err == nil && m.Value.Number != n {
		err = fmt.Errorf("got member %d; want %d", m.Value.Number, n)
	}
	if err == nil {
		_, err = o.byNumber.Get(ctx, o.members, n)
	}
	return err
}

// releasedLine is what a process says of one write.
type releasedLine struct {
	Number  int
	Refused string // why, if it was
	Sent    time.Time
	Missed  string // why the indexes do not find it, if they can be looked up
}

// runReleased is the program of a process.
func runReleased(settings []byte) error {
	var r released
	if err := json.Unmarshal(settings, &r); err != nil {
		return err
	}
	o, err := r.program()
	if err != nil {
		return err
	}
	ctx := inputContext()
	if err := o.store.Ensure(ctx); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for n := r.First; ctx.Err() == nil; n++ {
		line := releasedLine{Number: n, Sent: time.Now()}
		_, err := o.members.Insert(context.Background(), numberedMember(n))
		if err == nil && r.Newer {
			if err := o.find(context.Background(), n); err != nil && !errors.Is(err, table.ErrNotReadable) {
				line.Missed = err.Error()
			}
		}
		switch {
		case errors.Is(err, table.ErrNotDeclared):
			line.Refused = err.Error()
		case err != nil:
			return err
		}
		if err := out.Encode(line); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond) // leaves the processors to the tests beside this one
	}
	return nil
}

// releasedRun is what a process has said so far.
type releasedRun struct {
	*process
	mu    sync.Mutex
	more  sync.Cond
	lines []releasedLine
	ended bool
}

func startReleased(t *testing.T, r released) *releasedRun {
	p, err := start("released", r)
	must(t, err)
	run := &releasedRun{process: p}
	run.more.L = &run.mu
	go func() {
		for p.lines.Scan() {
			var line releasedLine
			if json.Unmarshal(p.lines.Bytes(), &line) == nil {
				run.add(line)
			}
		}
		run.mu.Lock()
		defer run.mu.Unlock()
		run.ended = true
		run.more.Broadcast()
	}()
	return run
}

func (r *releasedRun) add(line releasedLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	r.more.Broadcast()
}

// next returns the next n lines, of writes that were sent after a time.
func (r *releasedRun) next(t *testing.T, n int, after time.Time) []releasedLine {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	from := len(r.lines)
	for {
		for from < len(r.lines) && r.lines[from].Sent.Before(after) {
			from++
		}
		if len(r.lines) >= from+n {
			return r.lines[from : from+n]
		}
		if r.ended {
			t.Fatalf("the process has ended: %v", r.process.wait())
		}
		r.more.Wait()
	}
}

// finish ends the process.
func (r *releasedRun) finish() error {
	r.end()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended {
		r.more.Wait()
	}
	return r.process.wait()
}

// TestReleases: a release with two indexes beside one without them, in two processes that write all the time. No write is refused before
// Fill. From then on, each write of the older release is refused within a lease, and the look-ups find each write of the newer one. After
// Retire, both write.
func TestReleases(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	lease := time.Second
	if testing.Short() {
		lease = 300 * time.Millisecond
	}
	older := released{connection: service, Name: freshName(), Lease: lease}
	newer := older
	newer.Newer, newer.First = true, 10_000_000
	own, err := newer.program()
	must(t, err)

	old := startReleased(t, older)
	accepted := func(what string, r *releasedRun, after time.Time) {
		t.Helper()
		for _, line := range r.next(t, 20, after) {
			if line.Refused != "" || line.Missed != "" {
				t.Errorf("%s: write %d: %s %s; want it accepted", what, line.Number, line.Refused, line.Missed)
			}
		}
	}
	accepted("the older release alone", old, time.Now())
	new := startReleased(t, newer)
	accepted("the newer release, after its Ensure", new, time.Now())
	accepted("the older release, after that", old, time.Now().Add(lease))
	must(t, own.store.Ensure(ctx))

	var building time.Time
	report, err := own.store.Fill(ctx, &aztablekit.FillOptions{Pass: table.Pass{Progress: func(p table.Progress) {
		if building.IsZero() {
			building = time.Now()
		}
	}}})
	must(t, err)
	filled := time.Now()
	for _, line := range old.next(t, 20, filled) {
		if line.Refused == "" {
			t.Errorf("the older release after Fill: write %d was accepted", line.Number)
		}
	}
	accepted("the newer release after Fill", new, filled)
	last := 0
	old.mu.Lock()
	for _, line := range old.lines {
		if line.Refused == "" {
			last = line.Number
		}
		if refused := line.Refused != ""; refused && line.Sent.Before(building.Add(-lease)) || !refused && line.Sent.After(building.Add(lease)) {
			t.Errorf("the older release: write %d, %v after Fill has begun: refused %q", line.Number, line.Sent.Sub(building), line.Refused)
		}
	}
	old.mu.Unlock()
	for n := range last + 1 { // of the older release
		must(t, own.find(ctx, n))
	}
	verified, err := own.store.Verify(ctx, nil)
	if err != nil || verified.Faults > verified.Counts["unconfirmed"] {
		t.Errorf("Verify: got %+v, %v; want a sound table", verified, err)
	}

	for _, definition := range []string{"name", "badge"} {
		must(t, own.store.Retire(ctx, newer.Name, definition, nil))
	}
	retired := time.Now().Add(lease)
	accepted("the older release after Retire", old, retired)
	accepted("the newer release after Retire", new, retired)
	must(t, old.finish())
	must(t, new.finish())
	t.Logf("%d and %d writes; %d entities of the older release filled", len(old.lines), len(new.lines), report.Changed)
}
