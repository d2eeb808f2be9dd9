package logtail_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

var noError = testkit.NoError

// claim is the type of the records of these tests.
type claim struct {
	Employee int
	Amount   int
}

var dept = keys.Text()

// openLog returns a log of claims in a service.
func openLog(t testing.TB, s account.Transport, o *logtail.Options) *logtail.Log[claim] {
	t.Helper()
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	claims := logtail.New[claim](&host.Host{Tables: acc.Tables()}, "claims", o)
	err = claims.Err()
	noError(t, err)
	noError(t, claims.Ensure(context.Background()))
	return claims
}

func newLog(t testing.TB, o *logtail.Options) (*logtail.Log[claim], *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	claims := openLog(t, s, o)
	s.Count()
	return claims, s
}

// amounts returns the amounts of the records of a list.
func amounts(t testing.TB, list func(func(*logtail.Record[claim], error) bool)) (all []int) {
	t.Helper()
	for r, err := range list {
		noError(t, err)
		all = append(all, r.Value.Amount)
	}
	return all
}

// TestTail: the newest records come first, also with equal ticks of the clock and with a clock that steps back, in 1 request for
// each append and for each 1,000 records.
func TestTail(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	now := start
	o := &logtail.Options{}
	options.SetNow(&o.Common, func() time.Time { return now })
	claims, s := newLog(t, o)
	for i, at := range []time.Duration{0, time.Second, time.Second, -time.Minute} {
		now = start.Add(at)
		_, err := claims.Append(ctx, &claim{223, i})
		noError(t, err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "4 insert")
	testkit.Expect(t, "all", amounts(t, claims.Tail(ctx, 10)), []int{3, 2, 1, 0})
	testkit.Expect(t, "the newest two", amounts(t, claims.Tail(ctx, 2)), []int{3, 2})
	testkit.Expect(t, "requests", s.Count().String(), "2 query")
	for r, err := range claims.Tail(ctx, 1) {
		noError(t, err)
		if want := start.Add(time.Second + 200); !r.Time.Equal(want) || r.Sequence != 3 || r.Writer == "" {
			t.Errorf("got time %v and sequence %d of %q; want %v and 3, of a writer", r.Time, r.Sequence, r.Writer, want)
		}
	}
}

// TestClockStepsFarBack: records after a clock has stepped back by more than Overlap have the new time, and another writer.
func TestClockStepsFarBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	o := &logtail.Options{}
	options.SetNow(&o.Common, func() time.Time { return now })
	claims, _ := newLog(t, o)
	first, err := claims.Append(ctx, &claim{1, 1})
	noError(t, err)
	now = now.Add(-time.Hour)
	second, err := claims.Append(ctx, &claim{1, 2})
	noError(t, err)
	if !second.Time.Equal(now) || second.Writer == first.Writer || second.Sequence != 0 {
		t.Errorf("got %+v; want time %v, sequence 0 and another writer than %q", second, now, first.Writer)
	}
	now = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	var ke *keys.KeyError
	if _, err := claims.Append(ctx, &claim{1, 3}); !errors.As(err, &ke) {
		t.Errorf("Append in the year 10000: got %v; want a *keys.KeyError", err)
	}
	now = time.Date(2026, 11, 22, 12, 0, 1, 0, time.UTC)
	if r, err := claims.Append(ctx, &claim{1, 4}); err != nil || !r.Time.Equal(now) {
		t.Errorf("Append after it: got %+v, %v; want time %v", r, err, now)
	}
}

// TestForeignRows: a log reads rows with inverted ticks alone, as other programs store them, and leaves out rows of other types.
func TestForeignRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	claims, s := newLog(t, nil)
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	rows, err := bare.NewTable(acc.Tables(), "claims", table.Schema[table.Row]{}, nil)
	noError(t, err)
	at := time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC)
	n := keys.Desc(keys.Time()).RowKey(at)
	for _, rk := range []string{n.String(), "000223", "empid_000223", "25", strings.Repeat("9", 19)} {
		row := &table.Row{}
		noError(t, row.Set("Amount", 7))
		noError(t, row.Set("Employee", int64(1)))
		_, err := rows.InsertAt(ctx, keys.At(keys.RawPartition("log"), keys.RawRow(rk)), row)
		noError(t, err)
	}
	_, err = claims.Append(ctx, &claim{1, 8})
	noError(t, err)
	testkit.Expect(t, "the tail", amounts(t, claims.Tail(ctx, 10)), []int{8, 7})
	testkit.Expect(t, "that day", amounts(t, claims.Between(ctx, at, at.Add(time.Hour))), []int{7})
	testkit.Expect(t, "just before", amounts(t, claims.Between(ctx, at.Add(-time.Hour), at)), []int(nil))
	testkit.Expect(t, "since then", amounts(t, claims.Since(ctx, at.Add(100))), []int{8})
}

// TestTicksWithSuffix: what other programs store behind the ticks of a RowKey tells records of one tick apart, for reads, followers and deletes.
func TestTicksWithSuffix(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	claims, s := newLog(t, nil)
	at := time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC)
	n := keys.Desc(keys.Time()).RowKey(at)
	suffixes := []string{"$mem$1", "-5f0c7a52", "", "_5f0c7a52-98a9-4c0e-8c4f-0a7b6f6f4a11", "__:002Fbuiltin", "~1", "│é"} // the last are records
	for i, suffix := range append([]string{"0001", "a", "é"}, suffixes...) {
		row := &table.Row{}
		noError(t, row.Set("Amount", i))
		noError(t, row.Set("Employee", int64(1)))
		_, err := rawRows(t, s).InsertAt(ctx, keys.At(keys.RawPartition("log"), keys.RawRow(n.String()+suffix)), row)
		noError(t, err)
	}
	all := []int{3, 4, 5, 6, 7, 8, 9}
	sorted := func(list iter.Seq2[*logtail.Record[claim], error]) []int {
		found := amounts(t, list)
		slices.Sort(found)
		return found
	}
	testkit.Expect(t, "the tail", sorted(claims.Tail(ctx, 10)), all)
	testkit.Expect(t, "that tick", sorted(claims.Between(ctx, at, at.Add(100))), all)
	testkit.Expect(t, "the tick before", sorted(claims.Between(ctx, at.Add(-100), at)), []int(nil))
	testkit.Expect(t, "the tick behind", sorted(claims.Since(ctx, at.Add(100))), []int(nil))
	for r, err := range claims.Tail(ctx, 10) {
		noError(t, err)
		if !r.Time.Equal(at) || r.Writer != "" || r.Sequence != 0 {
			t.Errorf("%v: got time %v, writer %q, number %d; want %v, none, 0", r.Key, r.Time, r.Writer, r.Sequence, at)
		}
	}
	c := logtail.NewCursor("", at.Add(-time.Hour))
	following, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var followed []int
	for r, err := range claims.Follow(following, c) {
		noError(t, err)
		followed = append(followed, r.Value.Amount)
		if len(followed) == len(all) {
			break
		}
	}
	slices.Sort(followed)
	testkit.Expect(t, "followed", followed, all)
	deleted, err := claims.Delete(ctx, at, at.Add(100), nil)
	noError(t, err)
	testkit.Expect(t, "deleted", deleted.Changed, len(all))
	testkit.Expect(t, "left", len(s.Rows("claims")), 3)
}

// TestSpread: a source that is spread reads as one log, with 1 request for each partition, also the records from before.
func TestSpread(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	claims, s := newLog(t, nil)
	_, err := claims.In(dept.PartitionKey("Sales")).Append(ctx, &claim{1, -1})
	noError(t, err)
	spread := openLog(t, s, &logtail.Options{Spread: 8}).In(dept.PartitionKey("Sales"))
	var values []*claim
	want := []int{}
	for i := range 950 {
		values = append(values, &claim{1, i})
		want = append(want, 949-i)
	}
	s.Count()
	_, err = spread.AppendAll(ctx, values...)
	noError(t, err)
	testkit.Expect(t, "requests", s.Count().String(), "10 transaction")
	partitions := map[string]bool{}
	for _, r := range s.Rows("claims") {
		partitions[r.PartitionKey] = true
	}
	if len(partitions) < 5 {
		t.Errorf("got partitions %v; want the 10 transactions spread over 8", partitions)
	}
	testkit.Expect(t, "the tail", amounts(t, spread.Tail(ctx, 2000)), append(want, -1))
	testkit.Expect(t, "requests", s.Count().String(), "8 query")
}

// TestLostResponses: an append whose response is lost, or whose request arrives twice, is stored once; so is a record that is sent
// again after an unknown outcome.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, f := range map[string]storagetest.Fault{"lost response": storagetest.LostResponse(), "twice": storagetest.Twice(), "lost request": storagetest.LostRequest()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &logtail.Options{}
			o.Retry.Wait = -1
			claims, s := newLog(t, o)
			s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(f)))
			_, err := claims.Append(ctx, &claim{1, 1})
			noError(t, err)
			testkit.Expect(t, "records", amounts(t, claims.Tail(ctx, 10)), []int{1})
			o.Retry.Attempts = 1
			o.OmitOperationID = true
			once := openLog(t, s, o)
			s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(f)))
			r, err := once.Append(ctx, &claim{1, 2})
			if err != nil {
				noError(t, once.Resend(ctx, r))
			}
			noError(t, once.Resend(ctx, r, r))
			testkit.Expect(t, "records", amounts(t, claims.Tail(ctx, 10)), []int{2, 1})
		})
	}
}

// TestFollow: a follower yields each record once, the oldest first, also those that a writer with a late clock stores, and
// continues from a stored token.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, spread := range []int{1, 5} {
		t.Run(fmt.Sprintf("spread over %d", spread), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				claims, s := newLog(t, &logtail.Options{Spread: spread})
				late := &logtail.Options{Spread: spread}
				options.SetNow(&late.Common, func() time.Time { return time.Now().Add(-time.Minute) })
				slow := openLog(t, s, late)
				go func() {
					for i := range 300 {
						w := claims
						if i%3 == 0 {
							w = slow
						}
						if _, err := w.Append(ctx, &claim{i % 3, i}); err != nil {
							t.Error(err)
						}
						time.Sleep(time.Second / 3)
					}
				}()
				got := map[int]int{}
				last := map[string]int64{}
				token := ""
				for n := 0; n < 300; {
					cursor := logtail.NewCursor(token, time.Time{})
					for r, err := range openLog(t, s, &logtail.Options{Spread: spread}).Follow(ctx, cursor) {
						if err != nil {
							t.Fatalf("after %d records: got error %v; want none", n, err)
						}
						got[r.Value.Amount]++
						if was, is := last[r.Writer]; is && r.Sequence <= was {
							t.Errorf("got sequence %d of %s after %d; want the order of the writer", r.Sequence, r.Writer, was)
						}
						last[r.Writer] = r.Sequence
						if n++; n%50 == 0 {
							break
						}
					}
					token = cursor.Token()
				}
				for i := range 300 {
					if got[i] != 1 {
						t.Errorf("record %d: got it %d times; want once", i, got[i])
					}
				}
			})
		})
	}
}
