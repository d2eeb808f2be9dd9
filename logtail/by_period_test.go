package logtail_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestReadByPeriod: reads merge the tables, the newest first, with a request for each table that they need and one to look the tables
// up.
func TestReadByPeriod(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newPeriodic(t, logtail.PeriodOptions{Keep: 60}, logtail.Options{})
	days := []int{0, 1, 2, 5, 6, 40} // others have no table
	for i, day := range days {
		l.appendAt(t, noon.AddDate(0, 0, day), 10*i, 10*i+1)
	}
	at := func(day int) time.Time { return noon.AddDate(0, 0, day).Truncate(24 * time.Hour) }
	l.Count()
	testkit.Expect(t, "the newest 2", amounts(t, l.log.Tail(ctx, 2)), []int{51, 50})
	testkit.Expect(t, "requests for the newest 2", l.Count().String(), "1 query")
	testkit.Expect(t, "the newest 5", amounts(t, l.log.Tail(ctx, 5)), []int{51, 50, 41, 40, 31})
	// The present day, the states, then 1, 2 and 4 of the tables, among which are those that Create made ahead and nobody used.
	testkit.Expect(t, "requests for the newest 5", l.Count().String(), "9 query")
	testkit.Expect(t, "all", amounts(t, l.log.Since(ctx, time.Time{})), []int{51, 50, 41, 40, 31, 30, 21, 20, 11, 10, 1, 0})
	l.Count()
	testkit.Expect(t, "a day", amounts(t, l.log.Between(ctx, at(1), at(2))), []int{11, 10})
	testkit.Expect(t, "requests for a day", l.Count().String(), "1 query")
	testkit.Expect(t, "two days", amounts(t, l.log.Between(ctx, at(1), at(3))), []int{21, 20, 11, 10})
	testkit.Expect(t, "requests for two days", l.Count().String(), "3 query")
	testkit.Expect(t, "half a day", amounts(t, l.log.Between(ctx, at(1), at(1).Add(12*time.Hour+time.Nanosecond))), []int{10})
	testkit.Expect(t, "a day without a table", amounts(t, l.log.Between(ctx, at(20), at(21))), nil)
	testkit.Expect(t, "the future", amounts(t, l.log.Between(ctx, at(50), at(60))), nil)
	l.clock.set(at(62))
	testkit.Expect(t, "past the retention, although not dropped", amounts(t, l.log.Since(ctx, time.Time{})), []int{51, 50, 41, 40, 31, 30, 21, 20})
}

// TestReadNearMidnight: records that another clock has dated with the next day are read, too.
func TestReadNearMidnight(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newPeriodic(t, logtail.PeriodOptions{}, logtail.Options{})
	midnight := noon.Add(12 * time.Hour)
	l.appendAt(t, midnight.Add(-time.Minute), 0)
	l.appendAt(t, midnight.Add(time.Minute), 1)
	l.clock.set(midnight.Add(-30 * time.Second))
	l.Count()
	testkit.Expect(t, "records", amounts(t, l.log.Tail(ctx, 2)), []int{1, 0})
	testkit.Expect(t, "requests", l.Count().String(), "2 query")
	l.clock.set(midnight.Add(-10 * time.Minute))
	testkit.Expect(t, "records, long before", amounts(t, l.log.Tail(ctx, 2)), []int{0})
}

// TestAppendAtMidnight: records that are appended together are in one table, also at the end of a day.
func TestAppendAtMidnight(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newPeriodic(t, logtail.PeriodOptions{}, logtail.Options{})
	midnight := noon.Add(12 * time.Hour)
	l.clock.set(midnight.Add(-5 * 100 * time.Nanosecond))
	var values []*claim
	for i := range 100 {
		values = append(values, &claim{1, i})
	}
	rs, err := l.log.AppendAll(ctx, values...)
	noError(t, err)
	testkit.Expect(t, "requests", l.Count().String(), "1 transaction")
	testkit.Expect(t, "time of the first", rs[0].Time, midnight)
	testkit.Expect(t, "rows of the next day", len(l.Rows("claims20261123")), 100)
}

// TestFollowByPeriod: a follower yields the records of all tables in their order, past days without tables, from a token, and over
// midnight.
func TestFollowByPeriod(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, spread := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			l := &periodic{Service: storagetest.New(nil)}
			l.open(t, logtail.PeriodOptions{Keep: 30}, logtail.Options{Spread: spread})
			n := 0
			add := func(count int) {
				l.create(t)
				for range count {
					_, err := l.log.Append(ctx, &claim{1, n})
					noError(t, err)
					n++
				}
			}
			for _, days := range []int{0, 1, 1, 7, 2} {
				time.Sleep(time.Duration(days) * 24 * time.Hour)
				add(50)
			}
			time.Sleep(24 * time.Hour)
			// Over the next two days, a record each quarter of an hour.
			go func() {
				for range 200 {
					time.Sleep(15 * time.Minute)
					add(1)
				}
			}()
			ctx, cancel := context.WithTimeout(ctx, 3*24*time.Hour)
			defer cancel()
			cursor, want := logtail.NewCursor("", time.Time{}), 0
			for want < 450 {
				follower := &periodic{Service: l.Service} // another process each time
				follower.open(t, logtail.PeriodOptions{Keep: 30}, logtail.Options{Spread: spread, Poll: time.Minute})
				for r, err := range follower.log.Follow(ctx, cursor) {
					noError(t, err)
					testkit.Expect(t, "record", r.Value.Amount, want)
					if want++; want%70 == 0 || want == 450 {
						break
					}
				}
				cursor = logtail.NewCursor(cursor.Token(), time.Time{})
			}
		})
	}
}

// TestFollowPastRetention: a follower that comes so late that records may be dropped learns it; one that begins at the beginning
// begins with what is kept.
func TestFollowPastRetention(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // of a follower that waits
	defer cancel()
	l := newPeriodic(t, logtail.PeriodOptions{Keep: 3}, logtail.Options{})
	l.appendAt(t, noon, 0, 1)
	cursor := logtail.NewCursor("", noon)
	for _, err := range l.log.Follow(ctx, cursor) {
		noError(t, err)
		break
	}
	l.appendAt(t, noon.AddDate(0, 0, 4), 2)
	for _, err := range l.log.Follow(ctx, logtail.NewCursor(cursor.Token(), time.Time{})) {
		if !errors.Is(err, logtail.ErrPastRetention) {
			t.Errorf("Follow of an old cursor: got error %v; want ErrPastRetention", err)
		}
	}
	for r, err := range l.log.Follow(ctx, nil) {
		noError(t, err)
		testkit.Expect(t, "the first record", r.Value.Amount, 2)
		break
	}
}

// TestBoundsInsideTicks: a bound inside a tick is the next tick, also at midnight.
func TestBoundsInsideTicks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newPeriodic(t, logtail.PeriodOptions{}, logtail.Options{})
	midnight := noon.Add(12 * time.Hour)
	l.appendAt(t, midnight.Add(-time.Minute), 0)
	l.appendAt(t, midnight, 1)
	l.appendAt(t, midnight.Add(time.Hour), 2)
	testkit.Expect(t, "to midnight", amounts(t, l.log.Between(ctx, noon, midnight)), []int{0})
	testkit.Expect(t, "to a little after midnight", amounts(t, l.log.Between(ctx, noon, midnight.Add(50))), []int{1, 0})
	for _, at := range []time.Time{noon, midnight} {
		testkit.Expect(t, "inside a tick", amounts(t, l.log.Between(ctx, at.Add(10), at.Add(50))), nil)
		result, err := l.log.Delete(ctx, at.Add(10), at.Add(50), nil)
		noError(t, err)
		testkit.Expect(t, "deleted inside a tick", result.Changed, 0)
	}
	l.Count()
	for what, all := range map[string]iter.Seq2[*logtail.Record[claim], error]{
		"from the day after tomorrow on":                l.log.Since(ctx, midnight.AddDate(0, 0, 2)),
		"a range that ends before it begins":            l.log.Between(ctx, midnight, noon),
		"a range of one day that ends before it begins": l.log.Between(ctx, midnight.Add(time.Hour), midnight),
		"from an hour after the clock on":               l.log.Since(ctx, midnight.Add(23*time.Hour)),
	} {
		testkit.Expect(t, what, amounts(t, all), nil)
		testkit.Expect(t, "requests: "+what, l.Count().String(), "none")
	}
	result, err := l.log.Delete(ctx, noon, midnight.Add(50), nil)
	noError(t, err)
	testkit.Expect(t, "deleted", result.Changed, 2)
}

// TestReadOlderSpread: a spread log reads no more tables at once than it has concurrent requests for.
func TestReadOlderSpread(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newPeriodic(t, logtail.PeriodOptions{Ahead: 1}, logtail.Options{Spread: 32})
	for i := range 6 {
		l.appendAt(t, noon.AddDate(0, 0, i), i)
	}
	l.Count()
	testkit.Expect(t, "records", amounts(t, l.log.Tail(ctx, 3)), []int{5, 4, 3})
	testkit.Expect(t, "requests", l.Count().String(), "97 query") // 3 tables, and the states
}

// TestFollowDroppedByOthers: a follower learns that tables after its cursor are dropped, also if it keeps more than the job that
// drops, and if they are dropped while it reads.
func TestFollowDroppedByOthers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // of a follower that waits
	defer cancel()
	follow := func(l *periodic, c *logtail.Cursor) (amount int, err error) {
		for r, err := range l.log.Follow(ctx, c) {
			if err != nil {
				return 0, err
			}
			return r.Value.Amount, nil
		}
		return 0, nil
	}
	l := newPeriodic(t, logtail.PeriodOptions{Keep: 3}, logtail.Options{})
	all := &periodic{Service: l.Service}
	o, lo := logtail.PeriodOptions{}, logtail.Options{}
	options.SetNow(&o.Common, l.clock.Now)
	options.SetNow(&lo.Common, l.clock.Now)
	all.open(t, o, lo)
	l.appendAt(t, noon, 0, 1)
	l.clock.set(noon.Add(time.Hour))
	cursor := logtail.NewCursor("", time.Time{})
	_, err := follow(all, cursor)
	noError(t, err)
	l.appendAt(t, noon.AddDate(0, 0, 3), 2)

	l.SetFaults(func(r storagetest.Request) storagetest.Fault {
		if r.Table != "claims20261122" {
			return storagetest.Fault{}
		}
		l.clock.set(noon.AddDate(0, 0, 4))
		return storagetest.Refuse(404, "TableNotFound")
	})
	if n, err := follow(l, logtail.NewCursor(cursor.Token(), time.Time{})); !errors.Is(err, logtail.ErrPastRetention) {
		t.Errorf("Follow of a table that is dropped meanwhile: got record %d, error %v; want ErrPastRetention", n, err)
	}
	l.SetFaults(nil)
	_, err = l.periods.Drop(ctx, nil)
	noError(t, err)
	if n, err := follow(all, cursor); !errors.Is(err, logtail.ErrPastRetention) {
		t.Errorf("Follow past tables that another job has dropped: got record %d, error %v; want ErrPastRetention", n, err)
	}
	n, err := follow(all, nil)
	noError(t, err)
	testkit.Expect(t, "the first record that is kept", n, 2)
}

// TestFollowByPeriodClockStepsBack: a follower whose wrong clock is set right while it catches up misses nothing.
func TestFollowByPeriodClockStepsBack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // of a follower that waits
	defer cancel()
	l := newPeriodic(t, logtail.PeriodOptions{}, logtail.Options{})
	next := noon.AddDate(0, 0, 1)
	l.appendAt(t, noon, 0)
	l.appendAt(t, next, 1)
	now := &clock{now: next.Add(6 * time.Hour)} // wrong
	follower := &periodic{Service: l.Service}
	o, lo := logtail.PeriodOptions{}, logtail.Options{Poll: time.Millisecond}
	options.SetNow(&o.Common, now.Now)
	options.SetNow(&lo.Common, now.Now)
	follower.open(t, o, lo)
	var got []int
	for r, err := range follower.log.Follow(ctx, nil) {
		noError(t, err)
		got = append(got, r.Value.Amount)
		now.set(next.Add(time.Second))
		if len(got) == 2 {
			l.appendAt(t, next.Add(2*time.Second), 2)
		}
		if len(got) == 3 {
			break
		}
	}
	testkit.Expect(t, "records", got, []int{0, 1, 2})
}

// TestDelete: Delete removes the records of a time from all partitions and tables, with progress, and leaves rows of other types.
func TestDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, spread := range []int{1, 4} {
		now := &clock{now: noon}
		o := &logtail.Options{Spread: spread}
		options.SetNow(&o.Common, now.Now)
		claims, s := newLog(t, o)
		var values []*claim
		for i := range 999 {
			values = append(values, &claim{1, i})
		}
		_, err := claims.AppendAll(ctx, values...)
		noError(t, err)
		now.set(noon.Add(time.Hour))
		_, err = claims.Append(ctx, &claim{1, 999})
		noError(t, err)
		acc, err := account.FromTransport(s, nil)
		noError(t, err)
		others, err := bare.NewTable(acc.Tables(), "claims", table.Schema[claim]{}, nil)
		noError(t, err)
		_, err = others.InsertAt(ctx, keys.At(keys.RawPartition("log"), keys.RawRow("26")), &claim{}) // between the records
		noError(t, err)
		s.Count()
		calls := 0
		result, err := claims.Delete(ctx, time.Time{}, noon.Add(time.Minute), &table.Pass{Progress: func(table.Progress) { calls++ }})
		noError(t, err)
		testkit.Expect(t, "deleted", result.Changed, 999)
		if spread == 1 {
			testkit.Expect(t, "requests", s.Count().String(), "1 query, 10 transaction")
			testkit.Expect(t, "calls of Progress", calls, 10)
		}
		testkit.Expect(t, "records", amounts(t, claims.Tail(ctx, 10)), []int{999})
		testkit.Expect(t, "rows", len(s.Rows("claims")), 2)
		if _, err := claims.Delete(ctx, time.Time{}, time.Date(10001, 1, 1, 0, 0, 0, 0, time.UTC), nil); err == nil {
			t.Error("Delete up to the year 10001: got no error; want one")
		}
	}
	l := newPeriodic(t, logtail.PeriodOptions{}, logtail.Options{})
	for i := range 5 {
		l.appendAt(t, noon.AddDate(0, 0, i), i)
	}
	result, err := l.log.Delete(ctx, time.Time{}, noon.AddDate(0, 0, 3), nil)
	noError(t, err)
	testkit.Expect(t, "deleted by period", result.Changed, 3)
	testkit.Expect(t, "records by period", amounts(t, l.log.Tail(ctx, 10)), []int{4, 3})
}
