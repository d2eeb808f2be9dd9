package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/split"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// head is the row of a job.
type head struct {
	Kind, Name string
	State      string
	Arg        string // JSON
	In         string // the partitions
	Rate       int    // rows a second, of all workers; 0 means no limit
	Slice      time.Duration
	Open       int // most open ranges
	Starts     int // how often it was started again
	Began      time.Time
	Ended      time.Time
}

// part is the row of a range of a job. Each version of an open range has an effect, which a worker
// executes, but for version 0.
type part struct {
	Kind, Name, ID string
	Version        int
	Start          int // head.Starts when the version was stored by a start
	Done           bool
	Within         *string // the partition of a range of rows
	From, To       string
	Head           *string
	HeadFrom       string
	Next           string // the ID of the second half, which has no effect before a worker takes this one
	Depth          int    // how many slices came before
	Whole          bool   // it cannot be halved: a slice of it has no end

	Weight  float64 // its share of the keys of the job, of what is left
	Passed  float64 // of what is done
	Rows    int
	Changed int
	Faults  int

	Attempts int // that failed, of this version
	Error    string
	Failed   time.Time
}

// paid is the row of a job that says until when its rate is used up.
type paid struct {
	Kind, Name string
	Until      time.Time
}

func (p *part) span() split.Span {
	return split.Span{Within: p.Within, From: p.From, To: p.To, Head: p.Head, HeadFrom: p.HeadFrom}
}

func (p *part) setSpan(s split.Span) {
	p.Within, p.From, p.To, p.Head, p.HeadFrom = s.Within, s.From, s.To, s.Head, s.HeadFrom
}

// due is the effect of a version of a range; of a job that was started again, if Range is "".
type due struct {
	Range   string
	Version int
}

// The keys of the rows: a partition for each job.
var (
	headKey  = keys.Partition2(keys.Text(), keys.Text(), func(h *head) (*string, *string) { return &h.Kind, &h.Name })
	partKey  = keys.Partition2(keys.Text(), keys.Text(), func(p *part) (*string, *string) { return &p.Kind, &p.Name })
	paidKey  = keys.Partition2(keys.Text(), keys.Text(), func(p *paid) (*string, *string) { return &p.Kind, &p.Name })
	rangeKey = keys.Row(keys.Text().Named("range"), func(p *part) *string { return &p.ID })
)

const (
	headRow = "job"
	paidRow = "pace"
)

// ledger is the rows of the jobs of a kind.
type ledger struct {
	kind  string
	heads *table.Table[head]
	parts *table.Table[part]
	paids *table.Table[paid]

	// last is what is done before a job is finished; nil for most kinds. The work of such a kind is
	// on rows of all types, and what it has done of a partition it does not do again.
	last func(ctx context.Context, job string) error
}

// newLedger returns the ledger of a kind in a table.
func newLedger(s extend.Store, tableName, kind string) (*ledger, error) {
	heads, err := host.NewTable(s, tableName, table.Schema[head]{Partition: headKey, Row: keys.OneRow[head](headRow)}, nil)
	if err != nil {
		return nil, err
	}
	heads, err = bare.With(heads, bare.OnChange(kind, func(c *extend.Change[head]) (due, bool) {
		if c.New == nil || c.Old == nil || c.Old.Starts == c.New.Starts {
			return due{}, false
		}
		return due{Version: c.New.Starts}, true
	}))
	if err != nil {
		return nil, err
	}
	paids, err := host.NewTable(s, tableName, table.Schema[paid]{Partition: paidKey, Row: keys.OneRow[paid](paidRow)}, nil)
	if err != nil {
		return nil, err
	}
	parts, err := host.NewTable(s, tableName, table.Schema[part]{Partition: partKey, Row: rangeKey}, nil)
	if err == nil {
		parts, err = bare.With(parts, bare.OnChange(kind, func(c *extend.Change[part]) (due, bool) {
			if c.New == nil || c.New.Done || c.New.Version == 0 || c.Old != nil && c.Old.Version == c.New.Version {
				return due{}, false
			}
			return due{c.New.ID, c.New.Version}, true
		}))
	}
	return &ledger{kind: kind, heads: heads, parts: parts, paids: paids}, err
}

// newID returns the ID of a new range. It sorts behind that of the range that was halved, which has
// fewer slices before it: so a list, which may take several requests, misses no half of a range
// that it has not come to.
func (l *ledger) newID(depth int) string {
	return fmt.Sprintf("%06d%s", depth, door.Table(l.parts).Options.NewID())
}

// now is the time by the clock of the store.
func (l *ledger) now() time.Time { return door.Table(l.heads).Options.Now().UTC() }

// job returns the partition of a job.
func (l *ledger) job(name string) keys.PartitionKey { return headKey.Of(l.kind, name) }

func (l *ledger) head(ctx context.Context, name string) (*table.Entity[head], error) {
	return l.heads.Get(ctx, keys.At(l.job(name), keys.RawRow(headRow)))
}

// read reads the rows of a job and of one of its ranges. A row that does not exist is nil. 2
// requests, at the same time.
func (l *ledger) read(ctx context.Context, job keys.PartitionKey, id string) (h *table.Entity[head], r *table.Entity[part], err error) {
	var g errgroup.Group
	g.Go(func() (err error) {
		h, err = get(ctx, l.heads, keys.At(job, keys.RawRow(headRow)))
		return err
	})
	r, err = get(ctx, l.parts, keys.At(job, rangeKey.Of(id)))
	return h, r, cmp.Or(err, g.Wait())
}

// publish stores the second half of a range again, with an effect, unless that was done before. In
// one transaction, both halves would have one message, and so one worker. 1 request, and 3 more
// once.
func (l *ledger) publish(ctx context.Context, first *table.Entity[part]) error {
	if first.Value.Next == "" {
		return nil
	}
	return update(ctx, l.parts, keys.At(first.Key.Partition(), rangeKey.Of(first.Value.Next)), func(r *part) error {
		if r.Version > 0 {
			return errNothing
		}
		r.Version = 1
		return nil
	})
}

// span begins the span of a method of a job, in which a row that exists, or does not, is no
// failure.
func (l *ledger) span(ctx context.Context, method string) (context.Context, func(error)) {
	var heads *engine.Table
	if l != nil {
		heads = door.Table(l.heads)
	}
	return heads.Span(ctx, method)
}

// get reads a row, nil for one that does not exist.
func get[T any](ctx context.Context, t *table.Table[T], k keys.Key) (*table.Entity[T], error) {
	ctx, end := door.Table(t).Span(ctx, "Get")
	e, err := t.Get(ctx, k)
	if isAbsent(err) {
		e, err = nil, nil
	}
	end(err)
	return e, err
}

// update changes a row, unless it does not exist or change returns errNothing.
func update[T any](ctx context.Context, t *table.Table[T], k keys.Key, change func(*T) error) error {
	ctx, end := door.Table(t).Span(ctx, "Update")
	_, err := t.Update(ctx, k, change)
	if errors.Is(err, errNothing) || isAbsent(err) {
		err = nil
	}
	end(err)
	return err
}

// isAbsent reports whether a row does not exist, in a table that does.
func isAbsent(err error) bool {
	return errors.Is(err, table.ErrNotFound) && !errors.Is(err, errs.ErrTableNotFound)
}

// isOpen is the condition of ranges that are not done.
var isOpen = table.FieldOf(func(p *part) *bool { return &p.Done }).Eq(false)

// open returns the open ranges of a job. 1 request for each 1,000 ranges of the job.
func (l *ledger) open(ctx context.Context, name string) ([]*table.Entity[part], error) {
	return table.Collect(l.parts.List(ctx, table.Query[part]{Partition: l.job(name), Where: isOpen}))
}

// countOpen returns how many there are. 1 request for each 1,000 ranges of the job.
func (l *ledger) countOpen(ctx context.Context, name string) (int, error) {
	return l.parts.Count(ctx, table.Query[part]{Partition: l.job(name), Where: isOpen})
}

// finish stores that a job is finished, unless a range of it is open, or it is canceled or deleted.
func (l *ledger) finish(ctx context.Context, name string) error {
	n, err := l.countOpen(ctx, name)
	if err != nil || n > 0 {
		return err
	}
	if l.last != nil {
		if err := l.last(ctx, name); err != nil {
			return err
		}
	}
	return update(ctx, l.heads, keys.At(l.job(name), keys.RawRow(headRow)), func(h *head) error {
		if h.State != Running {
			return errNothing
		}
		h.State, h.Ended = Finished, l.now()
		return nil
	})
}

// mostStarts is how often a start lists the open ranges, while workers end slices of them.
const mostStarts = 10

// startAgain executes the start of a job that exists: it stores a new version of each open range,
// with an effect. If a worker has ended one meanwhile, that was perhaps the last one, and the
// worker did not see that the job runs again.
func (l *ledger) startAgain(ctx context.Context, job keys.PartitionKey, start int) error {
	h, err := get(ctx, l.heads, keys.At(job, keys.RawRow(headRow)))
	if err != nil || h == nil || h.Value.State != Running || h.Value.Starts != start {
		return err
	}
	name := h.Value.Name
	if err := l.freeRate(ctx, job); err != nil {
		return err
	}
	for range mostStarts {
		all, err := l.open(ctx, name)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return l.finish(ctx, name)
		}
		ended := false
		for _, r := range all {
			if r.Value.Start >= start { // it was stored before, or by a later start, and a worker may be at work on it
				continue
			}
			r.Value.Version++
			r.Value.Start, r.Value.Attempts = start, 0
			spanned, end := l.span(ctx, "Replace")
			err := l.parts.Replace(spanned, r)
			if errors.Is(err, table.ErrChanged) {
				ended, err = true, nil
			}
			end(err)
			if err != nil {
				return err
			}
		}
		if !ended {
			return nil
		}
	}
	return table.ErrContended
}

// errNothing ends an update that has nothing to do.
var errNothing = errors.New("nothing to do")

// reserve takes n rows of the rate of a job, and returns from when they may be used. 2 requests,
// and 2 more for each other worker that does the same at this moment.
func (l *ledger) reserve(ctx context.Context, name string, rate, n int) (from time.Time, err error) {
	k := keys.At(l.job(name), keys.RawRow(paidRow))
	take := func(p *paid) {
		from = p.Until
		if now := time.Now().UTC(); from.Before(now) {
			from = now
		}
		p.Until = from.Add(time.Duration(n) * time.Second / time.Duration(rate))
	}
	ctx, end := l.span(ctx, "Reserve")
	defer func() { end(err) }()
	for {
		_, err = l.paids.Update(ctx, k, func(p *paid) error { take(p); return nil })
		if !isAbsent(err) {
			return from, err
		}
		first := &paid{Kind: l.kind, Name: name}
		take(first)
		if _, err = l.paids.Insert(ctx, first); !errors.Is(err, table.ErrExists) {
			return from, err
		}
	}
}

// freeRate lets the rate of a job begin now: a start may have changed it.
func (l *ledger) freeRate(ctx context.Context, job keys.PartitionKey) error {
	return update(ctx, l.paids, keys.At(job, keys.RawRow(paidRow)), func(p *paid) error {
		p.Until = time.Now().UTC()
		return nil
	})
}

// usedUntil returns until when the rate of a job is used up. 1 request.
func (l *ledger) usedUntil(ctx context.Context, name string) (time.Time, error) {
	p, err := get(ctx, l.paids, keys.At(l.job(name), keys.RawRow(paidRow)))
	if p == nil {
		return time.Time{}, err
	}
	return p.Value.Until, err
}
