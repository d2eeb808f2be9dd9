package processes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// bankAccount is an account of the bank. Versions counts what was written to it.
type bankAccount struct {
	City                string
	ID, Cents, Versions int
}

// posting is a line of the ledger, which each transaction that writes inserts.
type posting struct {
	Process, Number int
	Deed            string // as JSON
}

var (
	bankCity       = keys.Partition(keys.Text(), func(a *bankAccount) *string { return &a.City })
	bankID         = keys.Row(keys.Digits[int](4), func(a *bankAccount) *int { return &a.ID })
	postingProcess = keys.Partition(keys.Digits[int](6), func(p *posting) *int { return &p.Process })
	postingNumber  = keys.Row(keys.Digits[int](8), func(p *posting) *int { return &p.Number })

	errNoMoney = errors.New("there is not enough on the account")
)

const (
	bankAccounts = 50 // in two tables, each with bankCities partitions
	bankCities   = 5
	bankPairs    = 4   // accounts 0 and 1, 2 and 3, … exchange money with each other alone
	bankCents    = 100 // on each account at first
)

// deed is a transaction of the bank: what it has read, and what it has written.
type deed struct {
	Process, Number int // of its posting, if it has written
	Began, Ended    time.Time
	Result          string
	Saw             map[int]balance // by account
	Moved           map[int]int     // cents by which accounts were changed
}

// balance is what a transaction has read of an account.
type balance struct{ Cents, Version int }

// The results of a deed of which all that it has read was true at one moment. Any other result is why the transaction has failed.
const (
	dealMoved = "moved"
	dealRead  = "read"
	dealPoor  = "refused for want of money"
)

// bank is a store with accounts in two tables, and a ledger in a third one. Another process opens it from its exported fields, in JSON.
type bank struct {
	connection
	Prefix  string
	Process int

	acc      *account.Account
	store    *aztablekit.Store
	accounts [2]*table.Table[bankAccount]
	ledger   *table.Table[posting]
}

// connect opens the store. Its writes have little time, so that the messages of killed processes become visible soon.
func (b *bank) connect() (err error) {
	if b.acc, err = b.open(); err != nil {
		return err
	}
	b.store = aztablekit.Open(b.acc, "bank", &aztablekit.Options{
		Prefix: b.Prefix, Daily: -1, Common: table.Common{WriteTimeout: 2 * time.Second},
		Worker: eventual.WorkerOptions{Concurrency: 4, Visibility: 2 * time.Second, Idle: 200 * time.Millisecond, Wait: time.Second, MaxWait: 2 * time.Second, Attempts: 100},
	})
	for i, name := range []string{"left", "right"} {
		b.accounts[i] = aztablekit.Table(b.store, name, bankCity, bankID)
	}
	b.ledger = aztablekit.Table(b.store, "ledger", postingProcess, postingNumber)
	return b.store.Err()
}

// find returns where an account is: the two of a pair are in different tables.
func (b *bank) find(n int) (*table.Table[bankAccount], keys.Key) {
	return b.accounts[n%2], keys.At(bankCity.Of(bankCityOf(n)), bankID.Of(n))
}

func bankCityOf(n int) string { return fmt.Sprint("city", n/2%bankCities) }

// deal is a transaction that reads accounts, and moves cents to the first of them: as many numbers as accounts are written.
func (b *bank) deal(ctx context.Context, number int, read, cents []int) (*deed, error) {
	d := &deed{Process: b.Process, Number: number, Began: time.Now(), Result: dealMoved}
	err := txn.Run(ctx, b.store, func(tx *txn.Tx) error {
		d.Saw, d.Moved = map[int]balance{}, map[int]int{}
		var ops []table.Op
		for i, n := range read {
			in, k := b.find(n)
			e, err := txn.Get(tx, in, k)
			if err != nil {
				return err
			}
			d.Saw[n] = balance{e.Value.Cents, e.Value.Versions}
			if i < len(cents) {
				d.Moved[n] = cents[i]
				e.Value.Cents += cents[i]
				e.Value.Versions++
				ops = append(ops, in.ReplaceOp(e))
			}
		}
		for n, cents := range d.Moved {
			if d.Saw[n].Cents+cents < 0 {
				return errNoMoney
			}
		}
		if len(ops) == 0 {
			return nil
		}
		text, err := json.Marshal(d)
		tx.Do(append(ops, b.ledger.InsertOp(&posting{b.Process, number, string(text)}))...)
		return err
	})
	d.Ended = time.Now()
	switch {
	case err == nil && len(cents) == 0:
		d.Result = dealRead
	case err == nil:
	case errors.Is(err, errNoMoney):
		d.Result, d.Moved = dealPoor, nil
	case errors.Is(err, table.ErrUnknownOutcome):
		d.Result = "unknown"
	case errors.Is(err, table.ErrContended):
		d.Result = "contended"
	case errors.Is(err, table.ErrGivenUp), errors.Is(err, context.DeadlineExceeded): // it has met the rows of several killed processes
		d.Result = "given up"
	default:
		return d, err
	}
	return d, nil
}

// random does a random transaction. In some, an account is only read: what goes by it must not be written beside a change of it.
func (b *bank) random(ctx context.Context, number int) (*deed, error) {
	cents := 1 + rand.IntN(60)
	if rand.IntN(3) == 0 {
		read := []int{0, 1}
		rand.Shuffle(2, func(i, j int) { read[i], read[j] = read[j], read[i] })
		pair := rand.IntN(bankPairs)
		read[0], read[1] = 2*pair+read[0], 2*pair+read[1]
		if rand.IntN(3) == 0 {
			return b.deal(ctx, number, read, []int{0})
		}
		return b.deal(ctx, number, read, []int{-cents, cents})
	}
	var read []int
	for _, n := range rand.Perm(bankAccounts - 2*bankPairs)[:3] {
		read = append(read, 2*bankPairs+n)
	}
	switch rand.IntN(8) {
	case 0:
		return b.deal(ctx, number, read, nil)
	case 1:
		return b.deal(ctx, number, read, []int{-cents, cents / 2, cents - cents/2})
	case 2:
		return b.deal(ctx, number, read, []int{-cents, cents})
	default:
		return b.deal(ctx, number, read[:2], []int{-cents, cents})
	}
}

// runTeller is the program of a process. It prints each transaction, and executes what those of killed processes have left.
func runTeller(settings []byte) error {
	var b bank
	if err := json.Unmarshal(settings, &b); err != nil {
		return err
	}
	if err := b.connect(); err != nil {
		return err
	}
	ctx := inputContext()
	failed := make(chan error, 3)
	go func() { failed <- b.store.Run(ctx) }()
	for first := range 2 {
		go func() {
			out := json.NewEncoder(os.Stdout)
			for number := first; ctx.Err() == nil; number += 2 {
				d, err := b.random(context.Background(), number)
				if err == nil {
					err = out.Encode(d)
				}
				if err != nil {
					failed <- err
					return
				}
				time.Sleep(5 * time.Millisecond) // leaves the processors to the tests beside this one
			}
			failed <- nil
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			return err
		}
	}
	return nil
}

// bankSeconds is how long the processes of TestBank move money.
var bankSeconds = testkit.Count("bankseconds", 5, "seconds for which the processes of TestBank move money, one of which is killed in each")

// bankRun is what the processes and readers have done.
type bankRun struct {
	mu    sync.Mutex
	deeds []*deed
}

func (r *bankRun) note(d *deed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deeds = append(r.deeds, d)
}

// teller is a running process.
type teller struct {
	*process
	ended chan error
}

// start starts a process, and notes what it prints. The last line of a killed process may be cut.
func (r *bankRun) start(b bank) (*teller, error) {
	p, err := start("teller", b)
	if err != nil {
		return nil, err
	}
	p.lines.Buffer(nil, 1<<20)
	a := &teller{p, make(chan error, 1)}
	go func() {
		for p.lines.Scan() {
			var d deed
			if json.Unmarshal(p.lines.Bytes(), &d) == nil {
				r.note(&d)
			}
		}
		a.ended <- p.wait()
	}()
	return a, nil
}

// readPairs reads the pairs of accounts again and again, until ctx ends. At each moment, a pair has what it had at first.
func (r *bankRun) readPairs(ctx context.Context, b *bank) error {
	for n := 0; ctx.Err() == nil; n = (n + 1) % bankPairs {
		d, err := b.deal(context.Background(), 0, []int{2 * n, 2*n + 1}, nil)
		if err != nil {
			return err
		}
		r.note(d)
		if one, other := d.Saw[2*n].Cents, d.Saw[2*n+1].Cents; d.Result == dealRead && one+other != 2*bankCents {
			return fmt.Errorf("pair %d has %d and %d cents at %v: got a sum of %d; want %d", n, one, other, d.Ended, one+other, 2*bankCents)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// TestBank: processes move money between accounts of several partitions and tables, and each second one of them is killed and replaced. At each moment, a pair of
// accounts has what it had at first; no money is lost, and no transfer that was acknowledged; there is an order of all transactions that explains what each has read; and nothing
// of the killed processes is left.
func TestBank(t *testing.T) {
	t.Parallel()
	seconds := *bankSeconds
	if testing.Short() {
		seconds = 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second+5*time.Minute) // of a machine with much other work
	defer cancel()
	b := bank{connection: service, Prefix: freshName()}
	must(t, b.connect())
	must(t, b.store.Ensure(ctx))
	for n := range bankAccounts {
		_, err := b.accounts[n%2].Insert(ctx, &bankAccount{City: bankCityOf(n), ID: n, Cents: bankCents})
		must(t, err)
	}
	var r bankRun
	all, processes := make([]*teller, 8), 0
	begin := func(i int) {
		processes++
		next := bank{connection: service, Prefix: b.Prefix, Process: processes}
		var err error
		all[i], err = r.start(next)
		must(t, err)
	}
	for i := range all {
		begin(i)
	}
	defer func() {
		for _, a := range all {
			a.kill()
		}
	}()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	read := make(chan error, 1)
	go func() { read <- r.readPairs(reading, &b) }()
	began := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range seconds {
		<-tick.C
		i := rand.IntN(len(all))
		all[i].kill()
		if err := <-all[i].ended; err != nil {
			t.Errorf("process: got error %v; want it killed", err)
		}
		begin(i)
	}
	took := time.Since(began)
	for _, a := range all {
		a.end()
	}
	for _, a := range all {
		select {
		case err := <-a.ended:
			must(t, err)
		case <-ctx.Done():
			t.Fatal("a process is at one transaction still; want it ended long ago")
		}
	}
	stop()
	must(t, <-read)
	b.drain(ctx, t)
	b.check(ctx, t, r.deeds, processes)
	r.log(t, took, seconds)
}

// drain executes what is left, also of the processes that were killed last, whose messages are hidden at first.
func (b *bank) drain(ctx context.Context, t *testing.T) {
	t.Helper()
	for left := int64(1); left > 0; time.Sleep(100 * time.Millisecond) {
		must(t, b.store.Drain(ctx))
		props, err := b.acc.Queue(b.Prefix+"bank-writes").GetProperties(ctx, nil)
		must(t, err)
		left = *props.ApproximateMessagesCount
	}
	props, err := b.acc.Queue(b.Prefix+"bank-poison").GetProperties(ctx, nil)
	must(t, err)
	testkit.Expect(t, "poison messages", *props.ApproximateMessagesCount, 0)
}

// check compares the accounts with the ledger, and this with what was acknowledged and read.
func (b *bank) check(ctx context.Context, t *testing.T, deeds []*deed, processes int) {
	t.Helper()
	now := map[int]balance{}
	sum := 0
	for _, accounts := range b.accounts {
		for e, err := range accounts.List(ctx, table.Query[bankAccount]{TableScan: true}) {
			must(t, err)
			now[e.Value.ID] = balance{e.Value.Cents, e.Value.Versions}
			sum += e.Value.Cents
			if e.Value.Cents < 0 {
				t.Errorf("account %d: got %d cents; want none below 0", e.Value.ID, e.Value.Cents)
			}
		}
	}
	testkit.Expect(t, "accounts", len(now), bankAccounts)
	testkit.Expect(t, "cents on all accounts", sum, bankAccounts*bankCents)

	type place struct{ process, number int }
	posted := map[place]*deed{}
	for e, err := range b.ledger.List(ctx, table.Query[posting]{TableScan: true}) {
		must(t, err)
		var d deed
		must(t, json.Unmarshal([]byte(e.Value.Deed), &d))
		posted[place{d.Process, d.Number}] = &d
	}
	var history []*deed
	for _, d := range deeds {
		switch at := (place{d.Process, d.Number}); {
		case d.Result == dealRead, d.Result == dealPoor:
			history = append(history, d)
		case d.Result == dealMoved && posted[at] == nil:
			t.Errorf("got no posting of %s; want it: it was acknowledged", d)
		case d.Result == dealMoved:
			posted[at].Ended = d.Ended
		case d.Result != "unknown" && posted[at] != nil:
			t.Errorf("got a posting of %s; want none", d)
		}
	}
	history = slices.AppendSeq(history, maps.Values(posted))
	for _, problem := range unexplained(history, now) {
		t.Error(problem)
	}

	var partitions [3][]keys.PartitionKey
	for n := range bankCities {
		of := bankCity.Of(bankCityOf(2 * n))
		partitions[0], partitions[1] = append(partitions[0], of), append(partitions[1], of)
	}
	for n := range processes {
		partitions[2] = append(partitions[2], postingProcess.Of(n+1))
	}
	for i, in := range []table.AnyTable{b.accounts[0], b.accounts[1], b.ledger} {
		checkNothingPrepared(t, b.acc, in.Name())
		checkNothingPending(t, in, partitions[i]...)
	}
}

// String returns what a deed was, for messages.
func (d *deed) String() string {
	text, _ := json.Marshal(d)
	return string(text)
}

// unexplained returns what no order of the transactions of a history explains. The transactions have read the versions of accounts, of which the first is 0, and have
// written the next ones; one that has ended before another began comes before it. now are the accounts in the end.
func unexplained(history []*deed, now map[int]balance) (problems []string) {
	type version struct{ account, n int }
	writers, before := map[version]*deed{}, map[version]balance{}
	for _, d := range history {
		for n, cents := range d.Moved {
			at := version{n, d.Saw[n].Version + 1}
			if other := writers[at]; other != nil {
				problems = append(problems, fmt.Sprintf("version %d of account %d was written by %s and %s", at.n, n, d, other))
			}
			writers[at] = d
			before[version{n, at.n}] = balance{d.Saw[n].Cents + cents, at.n}
		}
	}
	contents := func(at version) (balance, bool) {
		if at.n == 0 {
			return balance{Cents: bankCents}, true
		}
		is, has := before[at]
		return is, has
	}
	for n, is := range now {
		if was, _ := contents(version{n, is.Version}); was != is {
			problems = append(problems, fmt.Sprintf("account %d is %+v; by the ledger, this is %+v", n, is, was))
		}
		if later := writers[version{n, is.Version + 1}]; later != nil {
			problems = append(problems, fmt.Sprintf("account %d has no version of %s", n, later))
		}
	}

	// What comes before a transaction: those of which it has read, and those that have read what it has replaced. A moment comes after all transactions that have ended
	// until then, and before all that began later.
	after, waits := map[any][]any{}, map[any]int{}
	edge := func(from, to any) {
		if from != to {
			after[from] = append(after[from], to)
			waits[to]++
		}
	}
	var moments []*deed
	for _, d := range history {
		for n, saw := range d.Saw {
			if is, has := contents(version{n, saw.Version}); !has || is != saw {
				problems = append(problems, fmt.Sprintf("%s has read what no transaction has left on account %d: %+v", d, n, is))
			}
			if w := writers[version{n, saw.Version}]; w != nil {
				edge(w, d)
			}
			if next := writers[version{n, saw.Version + 1}]; next != nil {
				edge(d, next)
			}
		}
		if !d.Ended.IsZero() {
			moments = append(moments, d)
		}
	}
	slices.SortFunc(moments, func(a, b *deed) int { return a.Ended.Compare(b.Ended) })
	for i, d := range moments {
		edge(d, i)
		if i > 0 {
			edge(i-1, i)
		}
	}
	for _, d := range history {
		i, _ := slices.BinarySearchFunc(moments, d.Began, func(m *deed, began time.Time) int { return m.Ended.Compare(began) })
		if i > 0 {
			edge(i-1, d)
		}
	}
	return append(problems, circle(history, len(moments), after, waits)...)
}

// circle returns transactions of which each must come before the next, and the last before the first; none if there is an order.
func circle(history []*deed, moments int, after map[any][]any, waits map[any]int) (problems []string) {
	var all, ready []any
	for _, d := range history {
		all = append(all, d)
	}
	for i := range moments {
		all = append(all, i)
	}
	for _, x := range all {
		if waits[x] == 0 {
			ready = append(ready, x)
		}
	}
	for done := 0; done < len(ready); done++ {
		for _, x := range after[ready[done]] {
			if waits[x]--; waits[x] == 0 {
				ready = append(ready, x)
			}
		}
	}
	if len(ready) == len(all) {
		return nil
	}
	// Each that is left waits for another one that is left: the way back from one ends in a circle.
	earlier := map[any]any{}
	var at any
	for _, x := range all {
		for _, y := range after[x] {
			if waits[x] > 0 && waits[y] > 0 {
				earlier[y], at = x, y
			}
		}
	}
	var way []any
	for !slices.Contains(way, at) {
		way = append(way, at)
		at = earlier[at]
	}
	way = way[slices.Index(way, at):]
	slices.Reverse(way)
	for _, x := range way {
		if d, is := x.(*deed); is {
			problems = append(problems, fmt.Sprintf("no order explains this: %s comes before the next, and the last before the first", d))
		}
	}
	return problems
}

// log logs how many transactions had each result, and how long they took.
func (r *bankRun) log(t *testing.T, took time.Duration, kills int) {
	t.Helper()
	times, readers := map[string][]time.Duration{}, 0
	for _, d := range r.deeds {
		result := d.Result
		if d.Process == 0 {
			readers++
			result += " by readers of pairs"
		}
		for _, name := range []string{"all", result} {
			times[name] = append(times[name], d.Ended.Sub(d.Began))
		}
	}
	if len(times[dealMoved]) == 0 || readers == 0 {
		t.Errorf("got %d transfers and %d readings of pairs; want some", len(times[dealMoved]), readers)
	}
	t.Logf("%d processes killed, %.1f acknowledged transfers in a second, for %v", kills, float64(len(times[dealMoved]))/took.Seconds(), took.Round(time.Second/10))
	for _, name := range slices.SortedFunc(maps.Keys(times), func(a, b string) int { return cmp.Compare(len(times[b]), len(times[a])) }) {
		all := times[name]
		slices.Sort(all)
		at := func(share float64) time.Duration { return all[int(share*float64(len(all)-1))].Round(time.Millisecond) }
		t.Logf("%s: %d; p50 %v, p99 %v, most %v", name, len(all), at(0.5), at(0.99), at(1))
	}
}

// TestBankHistory: what TestBank finds in histories that are wrong.
func TestBankHistory(t *testing.T) {
	t.Parallel()
	second := func(n int) time.Time { return time.Unix(int64(n), 0) }
	deal := func(began, ended int, saw map[int]balance, moved map[int]int) *deed {
		d := &deed{Began: second(began), Saw: saw, Moved: moved}
		if ended > 0 {
			d.Ended = second(ended)
		}
		return d
	}
	first := balance{bankCents, 0}
	transfer := deal(1, 3, map[int]balance{0: first, 1: first}, map[int]int{0: -10, 1: 10})
	after := map[int]balance{0: {90, 1}, 1: {110, 1}}
	for name, test := range map[string]struct {
		history []*deed
		now     map[int]balance
		want    string // in a problem; "" if there is none
	}{
		"right":             {[]*deed{transfer, deal(2, 4, map[int]balance{0: first, 1: first}, nil), deal(2, 4, after, nil)}, after, ""},
		"lost":              {[]*deed{transfer}, map[int]balance{0: first, 1: first}, "has no version"},
		"half":              {[]*deed{transfer}, map[int]balance{0: {90, 1}, 1: first}, "has no version"},
		"without a posting": {nil, after, "by the ledger"},
		"lost update":       {[]*deed{transfer, deal(1, 3, map[int]balance{0: first}, map[int]int{0: 5})}, after, "was written by"},
		"never there":       {[]*deed{transfer, deal(2, 4, map[int]balance{0: {95, 1}}, nil)}, after, "has read what no transaction"},
		"two moments":       {[]*deed{transfer, deal(2, 4, map[int]balance{0: first, 1: {110, 1}}, nil)}, after, "no order"},
		"stale":             {[]*deed{transfer, deal(4, 5, map[int]balance{0: first, 1: first}, nil)}, after, "no order"},
		"read too early":    {[]*deed{deal(5, 0, transfer.Saw, transfer.Moved), deal(1, 4, after, nil)}, after, "no order"},
		"each goes by what the other changes": {[]*deed{
			deal(1, 3, map[int]balance{0: first, 1: first}, map[int]int{0: 0}),
			deal(1, 3, map[int]balance{0: first, 1: first}, map[int]int{1: 0}),
		}, map[int]balance{0: {100, 1}, 1: {100, 1}}, "no order"},
	} {
		got := strings.Join(unexplained(test.history, test.now), "\n")
		if !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: got problems %q; want %q", name, got, test.want)
		}
	}
}
