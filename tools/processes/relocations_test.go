package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
)

// relocator is a process that moves items between two groups. Another process opens it from its exported fields, in JSON.
type relocator struct {
	connection
	Table        string
	WriteTimeout time.Duration // short for a process that is killed, so that its messages become visible soon; 0 means the default
	Items        int
	Kill         int64  // the number of the request at which the process is killed, reads not counted; 0 for none
	After        bool   // it is killed after the request
	Seed         uint64 // of its choices

	requests atomic.Int64
	acc      *account.Account
	items    *table.Table[item]
	owners   *table.Table[table.Row] // of the texts, which are unique in both groups
}

var (
	itemText  = index.New("text", keys.Text(), func(m *item) (string, bool) { return m.Text, true }, &index.Options{Unique: true})
	itemLists = index.NewLists("tens", keys.Digits[int](3), func(m *item) (int, bool) { return m.ID / 10, true }, nil)
	itemOwner = index.NewUnique("owner", keys.Text(), func(m *item) (string, bool) { return m.Text, true }, nil)
	relocated = [2]string{"here", "there"}
)

// connect opens the table.
func (p *relocator) connect(more ...policy.Policy) error {
	var err error
	if p.acc, err = p.open(more...); err != nil {
		return err
	}
	c := table.Common{WriteTimeout: p.WriteTimeout}
	base, err := bare.NewTable(p.acc.Tables(), p.Table, itemSchema, &table.Options{Common: c})
	if err != nil {
		return err
	}
	out, err := bareworker.NewOutbox(p.acc.Queues().NewQueueClient(p.Table+"q"), &c)
	if err != nil {
		return err
	}
	if p.items, err = baretest.WithOutbox(base, out); err != nil {
		return err
	}
	if p.items, err = baretest.Attach(p.items, itemText, itemLists, itemOwner); err != nil {
		return err
	}
	p.owners, err = bare.NewTable(p.acc.Tables(), p.Table+"owner", table.Schema[table.Row]{}, &table.Options{Common: c})
	return err
}

func (p *relocator) worker() (bareworker.Worker, error) {
	return bareworker.New(p.acc.Queues().NewQueueClient(p.Table+"q"), p.acc.Queues().NewQueueClient(p.Table+"p"), baretest.Handlers(p.items), &eventual.WorkerOptions{
		Concurrency: 4, Visibility: 2 * time.Second, Idle: 200 * time.Millisecond, Wait: time.Second, MaxWait: 2 * time.Second, Attempts: 100,
	})
}

// Do implements policy.Policy. The process stops where it is to be killed, and prints the kind of the request.
func (p *relocator) Do(r *policy.Request) (*http.Response, error) {
	kind, n := requests.KindOf(r.Raw()), int64(0)
	if kind != requests.Get {
		n = p.requests.Add(1)
	}
	stop := func(after bool) {
		if n == p.Kill && n > 0 && after == p.After {
			fmt.Printf("killed %s %s\n", map[bool]string{true: "after", false: "before"}[after], kind)
			select {}
		}
	}
	stop(false)
	resp, err := r.Next()
	stop(true)
	return resp, err
}

// work moves random items to the other group, and prints a line for each.
func (p *relocator) work(ctx context.Context) error {
	choices := rand.New(rand.NewPCG(p.Seed, 0))
	for ctx.Err() == nil {
		id, from := choices.IntN(p.Items), choices.IntN(2)
		e, err := p.items.Get(ctx, p.items.Key(item{Group: relocated[from], ID: id}))
		if errors.Is(err, table.ErrNotFound) {
			continue
		}
		if err == nil && choices.IntN(4) == 0 {
			e.Value.Text = fmt.Sprintf("text-%d", choices.IntN(p.Items+10)) // most of them are taken
			err = p.items.Replace(ctx, e)
		} else if err == nil {
			e.Value.Group = relocated[1-from]
			err = p.items.Move(ctx, e)
		}
		switch {
		case err == nil:
			fmt.Println("moved")
		case ctx.Err() != nil, errors.Is(err, table.ErrChanged), errors.Is(err, table.ErrNotFound), errors.Is(err, table.ErrExists), errors.Is(err, table.ErrTaken),
			errors.Is(err, table.ErrContended), errors.Is(err, table.ErrGivenUp), errors.Is(err, table.ErrUnknownOutcome),
			errors.Is(err, context.DeadlineExceeded): // it has met the rows of several killed processes
		default:
			return err
		}
	}
	return nil
}

// runRelocator is the program of a relocator. It works until its input ends, or until it is killed.
func runRelocator(settings []byte) error {
	var p relocator
	if err := json.Unmarshal(settings, &p); err != nil {
		return err
	}
	if err := p.connect(&p); err != nil {
		return err
	}
	return p.work(inputContext())
}

// run runs the process until it is to be killed, and kills it, or until ctx ends. at is where it was killed.
func (p *relocator) run(ctx context.Context, moved *atomic.Int64) (at string, err error) {
	running, err := start("relocator", p)
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, running.end)()
	for running.lines.Scan() {
		if place, killed := strings.CutPrefix(running.lines.Text(), "killed "); killed {
			at = place
			running.kill()
		} else {
			moved.Add(1)
		}
	}
	return at, running.wait()
}

// moveKills is how many processes TestMoveKill kills. The default kills once before and after each of the first 10 requests.
var moveKills = testkit.Count("movekills", 20, "processes that TestMoveKill kills")

// TestMoveKill: processes that move items and claim unique texts are killed again and again, before and after each request. Every item
// is in exactly one group, every text has the owner that has it, and no work is left.
func TestMoveKill(t *testing.T) {
	t.Parallel()
	items, moves, kills := 80, int64(6**moveKills), *moveKills
	if testing.Short() {
		items, moves, kills = 30, 50, 8
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // of a machine with much other work
	defer cancel()
	p := &relocator{connection: service, Table: freshName(), Items: items}
	must(t, p.connect())
	w, err := p.worker()
	must(t, err)
	must(t, errors.Join(tabledoor.Ensure(ctx, p.items), baretest.Ensure(ctx, p.items), w.Ensure(ctx)))
	for i := range items {
		_, err := p.items.Insert(ctx, &item{relocated[i%2], i, fmt.Sprint("text-", i)})
		must(t, err)
	}
	start := time.Now()
	working, ends := context.WithCancel(ctx)
	defer ends()
	report := func(err error) {
		if err != nil {
			t.Errorf("got error %v; want none", err)
			ends()
		}
	}
	var running sync.WaitGroup
	running.Go(func() { report(w.Run(working)) })
	var moved, next atomic.Int64
	var mu sync.Mutex
	killed := map[string]int{}
	for i := range 4 {
		running.Go(func() {
			for n := next.Add(1) - 1; working.Err() == nil; n = next.Add(1) - 1 {
				q := &relocator{connection: service, Table: p.Table, WriteTimeout: 2 * time.Second, Items: items, Seed: uint64(n)}
				if n < int64(kills) {
					q.Kill, q.After = 1+n/2%15, n%2 == 1 // a move without a conflict has 5 writes
				}
				at, err := q.run(working, &moved)
				if err != nil {
					report(fmt.Errorf("process %d: %w", i, err))
				}
				mu.Lock()
				if at != "" {
					killed[at]++
				}
				mu.Unlock()
			}
		})
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for working.Err() == nil && (moved.Load() < moves || next.Load() < int64(kills)+4) {
		<-tick.C
	}
	ends()
	running.Wait()
	must(t, ctx.Err())
	for left := 1; left > 0; <-tick.C {
		must(t, w.Drain(ctx))
		left, err = w.Backlog(ctx)
		must(t, err)
	}
	checkRelocated(t, p)
	total := 0
	var counts []string
	for at, n := range killed {
		counts = append(counts, fmt.Sprintf("%s: %d", at, n))
		total += n
	}
	slices.Sort(counts)
	if total != kills {
		t.Errorf("got %d killed processes; want %d", total, kills)
	}
	t.Logf("%d moves and claims of %d items, %d processes killed, in %v: %s", moved.Load(), items, total, time.Since(start).Round(time.Second/10), strings.Join(counts, ", "))
}

// checkRelocated fails the test unless each item is in one group, with its derived rows, and no work is left.
func checkRelocated(t *testing.T, p *relocator) {
	ctx := context.Background()
	rows, err := bare.NewTable(p.acc.Tables(), p.Table, table.Schema[table.Row]{}, nil)
	must(t, err)
	want, got, groups := map[string]string{}, map[string]string{}, map[int]string{}
	lists := map[string][]string{}
	for x, err := range rows.List(ctx, table.Query[table.Row]{TableScan: true}) {
		must(t, err)
		pk, rk := x.Key.PartitionKey(), x.Key.RowKey()
		switch kind, rest, _ := strings.Cut(rk, "_"); kind {
		case "m":
			var id int
			_, err := fmt.Sscanf(rest, "%d", &id)
			must(t, err)
			if groups[id] != "" {
				t.Errorf("item %d is in %s and %s", id, groups[id], pk)
			}
			groups[id] = pk
			text, _ := x.Value.Get("Text")
			want[fmt.Sprintf("%s/text_%s", pk, text)] = ""
			if owner := fmt.Sprint("owner of ", text); want[owner] != "" {
				t.Errorf("%s and %v have the text %s", want[owner], x.Key, text)
			} else {
				want[owner] = rk + "//" + pk
			}
			list := fmt.Sprintf("%s/tens_%03d", pk, id/10)
			lists[list] = append(lists[list], rk)
		case "text":
			got[pk+"/"+rk] = ""
		case "tens":
			text, _ := x.Value.Get("Members")
			got[pk+"/"+rk] = fmt.Sprint(text)
		default:
			t.Errorf("%v is left", x.Key)
		}
	}
	for x, err := range p.owners.List(ctx, table.Query[table.Row]{TableScan: true}) {
		must(t, err)
		owner, _ := x.Value.Get("_sys")
		got["owner of "+strings.TrimPrefix(x.Key.RowKey(), "owner_")] = fmt.Sprint(owner)
	}
	for list, members := range lists {
		want[list] = strings.Join(members, "/")
	}
	if len(groups) != p.Items {
		t.Errorf("got %d items; want %d", len(groups), p.Items)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: got %q; want %q", name, got[name], text)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("got %s, which belongs to no item", name)
	}
	checkNothingPrepared(t, p.acc, p.Table, p.Table+"owner")
	checkNothingPending(t, p.items, keys.RawPartition(relocated[0]), keys.RawPartition(relocated[1]))
}

// checkNothingPrepared fails the test if a row of the tables is marked by a write over several partitions, or names one that has not ended.
func checkNothingPrepared(t *testing.T, acc *account.Account, tables ...string) {
	t.Helper()
	marked := "_tx ne '' or RowKey ge '~t|' and RowKey lt '~t}' and State ne 'over'"
	for _, name := range tables {
		for pages := acc.Tables().NewClient(name).NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &marked}); pages.More(); {
			page, err := pages.NextPage(context.Background())
			must(t, err)
			for _, row := range page.Entities {
				t.Errorf("still prepared: %s", row)
			}
		}
	}
}

// checkNothingPending fails the test if a commit record of the partitions is pending.
func checkNothingPending(t *testing.T, in table.Handle, partitions ...keys.PartitionKey) {
	t.Helper()
	for _, of := range partitions {
		for r, err := range records.Of(in).List(context.Background(), of, time.Now().Add(time.Hour)) {
			must(t, err)
			if r.State == commit.Pending {
				t.Errorf("commit record %s of %s in table %s: got state pending; want done or aborted", r.OperationID, of, in.Name())
			}
		}
	}
}
