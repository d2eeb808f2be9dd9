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
		props, err := b.acc.Queues().NewQueueClient(b.Prefix+"bank-writes").GetProperties(ctx, nil)
		must(t, err)
		left = *props.ApproximateMessagesCount
	}
	props, err := b.acc.Queues().NewQueueClient(b.Prefix+"bank-poison").GetProperties(ctx, nil)
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
	for i, in := range []table.Handle{b.accounts[0], b.accounts[1], b.ledger} {
		checkNothingPrepared(t, b.acc, in.Name())
		checkNothingPending(t, in, partitions[i]...)
	}
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
