package logtail_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// Claim is an expense claim.
type Claim struct {
	Employee int
	Amount   int32
}

// check keeps examples short. A program returns its errors.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// newClaims returns an empty log in a service in memory. A program takes its account from package account.
func newClaims(o *logtail.Options) *logtail.Log[Claim] {
	store := aztablekit.Open(storagetest.New(nil), "company", nil)
	claims := logtail.New[Claim](store, "claims", o)
	check(store.Ensure(context.Background()))
	return claims
}

// The newest records first.
func Example() {
	ctx := context.Background()
	claims := newClaims(nil)
	for i := range 5 {
		_, err := claims.Append(ctx, &Claim{Employee: 223, Amount: int32(i)})
		check(err)
	}
	for claim, err := range claims.Tail(ctx, 2) {
		check(err)
		fmt.Println(claim.Value.Employee, claim.Value.Amount)
	}
	// Output:
	// 223 4
	// 223 3
}

// Each department has a partition of its own.
func ExampleLog_In() {
	ctx := context.Background()
	dept := keys.Text()
	claims := newClaims(nil)
	_, err := claims.In(dept.PartitionKey("Sales")).Append(ctx, &Claim{223, 17})
	check(err)
	record, err := claims.In(dept.PartitionKey("Finance")).Append(ctx, &Claim{300, 9})
	check(err)
	fmt.Println(record.Key.PartitionKey(), record.Sequence)
	for claim, err := range claims.In(dept.PartitionKey("Sales")).Tail(ctx, 10) {
		check(err)
		fmt.Println(claim.Value.Employee, claim.Value.Amount)
	}
	// Output:
	// Finance 0
	// 223 17
}

// Many records are stored in transactions. If that fails, Resend stores the records that are not stored yet, and no record twice.
func ExampleLog_AppendAll() {
	ctx := context.Background()
	claims := newClaims(nil)
	records, err := claims.AppendAll(ctx, &Claim{223, 1}, &Claim{223, 2}, &Claim{300, 3})
	for attempts := 0; err != nil && attempts < 3; attempts++ {
		err = claims.Resend(ctx, records...)
	}
	check(err)
	fmt.Println(len(records), records[2].Time.Sub(records[0].Time))
	// Output: 3 200ns
}

// A handler of package eventual may be called again for an effect that it has executed. The operation ID of the write identifies the
// record.
func ExampleLog_AppendOnce() {
	ctx := context.Background()
	claims := newClaims(nil)
	const operationID = "01KAJ5ZVW0ABCDEFGHJKMNPQRS"
	written := time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)
	for range 2 {
		_, err := claims.AppendOnce(ctx, operationID, written, &Claim{Employee: 223, Amount: 17})
		check(err)
	}
	for claim, err := range claims.Tail(ctx, 10) {
		check(err)
		fmt.Println(claim.Time.Format(time.TimeOnly), claim.Value.Employee, claim.Value.Amount)
	}
	// Output: 09:00:00 223 17
}

// A record whose outcome is unknown is sent again under its key.
func ExampleLog_Resend() {
	ctx := context.Background()
	claims := newClaims(nil)
	record, err := claims.Append(ctx, &Claim{223, 17})
	if err != nil && record != nil {
		err = claims.Resend(ctx, record)
	}
	check(err)
	check(claims.Resend(ctx, record)) // changes nothing
	n := 0
	for _, err := range claims.Tail(ctx, 10) {
		check(err)
		n++
	}
	fmt.Println(n)
	// Output: 1
}

// Records by time: from a time on, and between two times.
func ExampleLog_Between() {
	ctx := context.Background()
	now := time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC)
	store := aztablekit.Open(storagetest.New(nil), "company", &aztablekit.Options{Now: func() time.Time { return now }})
	claims := logtail.New[Claim](store, "claims", nil)
	check(store.Ensure(ctx))
	for i := range 4 {
		_, err := claims.Append(ctx, &Claim{223, int32(i)})
		check(err)
		now = now.Add(time.Hour)
	}
	evening := time.Date(2014, 7, 31, 20, 0, 0, 0, time.UTC)
	for claim, err := range claims.Between(ctx, evening.Add(-time.Hour), evening) {
		check(err)
		fmt.Println("between:", claim.Time.Format(time.TimeOnly), claim.Value.Amount)
	}
	for claim, err := range claims.Since(ctx, evening) {
		check(err)
		fmt.Println("since:", claim.Time.Format(time.TimeOnly), claim.Value.Amount)
	}
	// Output:
	// between: 19:00:00 1
	// since: 21:00:00 3
	// since: 20:00:00 2
}

// A follower stores its position, and another process continues there.
func ExampleLog_Follow() {
	ctx := context.Background()
	claims := newClaims(nil)
	_, err := claims.AppendAll(ctx, &Claim{223, 1}, &Claim{223, 2}, &Claim{223, 3})
	check(err)
	cursor := logtail.NewCursor("", time.Time{}) // the beginning
	for claim, err := range claims.Follow(ctx, cursor) {
		check(err)
		fmt.Println(claim.Value.Amount)
		if claim.Value.Amount == 2 {
			break
		}
	}
	saved := cursor.Token()
	for claim, err := range claims.Follow(ctx, logtail.NewCursor(saved, time.Time{})) {
		check(err)
		fmt.Println("later:", claim.Value.Amount)
		break
	}
	// Output:
	// 1
	// 2
	// later: 3
}

// A follower that begins now.
func ExampleNewCursor_now() {
	ctx := context.Background()
	claims := newClaims(nil)
	_, err := claims.Append(ctx, &Claim{223, 1})
	check(err)
	cursor := logtail.NewCursor("", time.Now().Add(time.Nanosecond*100))
	time.AfterFunc(time.Millisecond, func() {
		_, err := claims.Append(ctx, &Claim{223, 2})
		check(err)
	})
	for claim, err := range claims.Follow(ctx, cursor) {
		check(err)
		fmt.Println(claim.Value.Amount)
		break
	}
	// Output: 2
}

// A source with more records than one partition takes.
func ExampleOptions_spread() {
	ctx := context.Background()
	claims := newClaims(&logtail.Options{Spread: 16})
	for i := range 100 {
		_, err := claims.Append(ctx, &Claim{223, int32(i)})
		check(err)
	}
	for claim, err := range claims.Tail(ctx, 1) {
		check(err)
		fmt.Println(claim.Value.Amount)
	}
	// Output: 99
}

// newDays returns a log with a table for each day, in a service in memory, and its periods. The tables of the day exist.
func newDays(today func() time.Time) (*logtail.Periods, *logtail.Log[Claim]) {
	store := aztablekit.Open(storagetest.New(nil), "company", &aztablekit.Options{Now: today})
	claims := logtail.NewByPeriod[Claim](store, "claims", &logtail.PeriodOptions{Keep: 30}, nil)
	check(store.Ensure(context.Background()))
	return claims.Periods(), claims
}

// A log with a table for each day. The store makes the tables ahead, and drops those past the retention.
func ExampleNewByPeriod() {
	ctx := context.Background()
	service := storagetest.New(nil)
	store := aztablekit.Open(service, "company", nil)
	claims := logtail.NewByPeriod[Claim](store, "claims", &logtail.PeriodOptions{Keep: 30}, nil)
	check(store.Ensure(ctx))
	_, err := claims.Append(ctx, &Claim{Employee: 223, Amount: 17})
	check(err)
	all, err := table.Collect(claims.Tail(ctx, 10))
	check(err)
	check(store.RunDaily(ctx)) // store.Run does it each day
	fmt.Println(len(service.TableNames()), len(all))
	// Output: 5 1
}

// The names of the tables end with the digits of their periods.
func ExamplePeriodOptions() {
	july := time.Date(2014, 7, 31, 0, 0, 0, 0, time.UTC)
	store := aztablekit.Open(storagetest.New(nil), "company", &aztablekit.Options{Now: func() time.Time { return july }})
	claims := logtail.NewByPeriod[Claim](store, "claims", &logtail.PeriodOptions{Unit: "month", Ahead: 1}, nil)
	made, err := claims.Periods().Create(context.Background())
	check(err)
	for _, p := range made {
		fmt.Println(p.Table)
	}
	// Output:
	// claims201407
	// claims201408
}

// A dry run returns what Drop would drop.
func ExamplePeriods_Drop() {
	ctx := context.Background()
	now := time.Date(2014, 7, 31, 12, 0, 0, 0, time.UTC)
	days, _ := newDays(func() time.Time { return now })
	now = now.AddDate(0, 0, 31)
	old, err := days.Drop(ctx, &table.Pass{DryRun: true})
	check(err)
	for _, p := range old {
		fmt.Println(p.Table, p.Dropped)
	}
	old, err = days.Drop(ctx, nil)
	check(err)
	fmt.Println(len(old), old[0].Dropped)
	// Output:
	// claims20140731 false
	// 1 true
}

// List yields all periods that ever were.
func ExamplePeriods_List() {
	now := time.Date(2014, 7, 31, 12, 0, 0, 0, time.UTC)
	days, _ := newDays(func() time.Time { return now })
	for p, err := range days.List(context.Background()) {
		check(err)
		fmt.Println(p.From.Format(time.DateOnly), p.Dropped)
	}
	// Output:
	// 2014-07-31 false
	// 2014-08-01 false
	// 2014-08-02 false
}

// Records before the horizon are past the retention.
func ExamplePeriods_Horizon() {
	now := time.Date(2014, 7, 31, 12, 0, 0, 0, time.UTC)
	days, claims := newDays(func() time.Time { return now })
	fmt.Println(days.Horizon().Format(time.DateOnly))
	now = now.AddDate(0, 0, -31) // a clock that is wrong
	_, err := claims.Append(context.Background(), &Claim{223, 17})
	fmt.Println(errors.Is(err, logtail.ErrPastRetention))
	// Output:
	// 2014-07-01
	// true
}

// Delete is for a log that is not by period.
func ExampleLog_Delete() {
	ctx := context.Background()
	claims := newClaims(nil)
	for i := range 5 {
		_, err := claims.Append(ctx, &Claim{Employee: 223, Amount: int32(i)})
		check(err)
	}
	result, err := claims.Delete(ctx, time.Time{}, time.Now(), &table.Pass{Progress: func(p table.Progress) { fmt.Println("so far:", p.Changed) }})
	check(err)
	fmt.Println(result.Changed)
	// Output:
	// so far: 5
	// 5
}
