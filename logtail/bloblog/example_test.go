package bloblog_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/storagetest"
)

// Event is an event of an order.
type Event struct {
	Order int
	State string
	Time  time.Time
}

// check keeps examples short. A program returns its errors.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// newEvents returns an empty log in a service in memory.
func newEvents(o *bloblog.Options[Event]) *bloblog.Log[Event] {
	shop := aztablekit.Open(storagetest.New(nil), "shop", nil)
	events := bloblog.New(shop, "logs", o)
	check(events.Err()) // which Ensure returns, too
	check(shop.Ensure(context.Background()))
	return events
}

// Records are appended to the buffer, stored by a flush, and read by time.
func Example() {
	ctx := context.Background()
	events := newEvents(&bloblog.Options[Event]{Time: func(e *Event) time.Time { return e.Time }})
	orders, err := events.Writer("orders")
	check(err)
	paid := time.Date(2014, 7, 31, 18, 15, 0, 0, time.UTC)
	check(orders.Append(ctx, &Event{17, "paid", paid}))
	check(orders.Append(ctx, &Event{17, "sent", paid.Add(time.Hour)}))
	check(orders.Close(ctx))
	for r, err := range events.Between(ctx, "orders", paid, paid.Add(30*time.Minute)) {
		check(err)
		fmt.Println(r.Blob.Name, r.Line, r.Value.State, r.Time.Format(time.TimeOnly))
	}
	// Output: orders/2014/07/31/1800/000001.log 1 paid 18:15:00
}

// Close stores the last records. Run stores them in time while none are appended.
func ExampleLog_Writer() {
	ctx, cancel := context.WithCancel(context.Background())
	events := newEvents(nil)
	orders, err := events.Writer("orders/europe")
	check(err)
	go orders.Run(ctx)
	check(orders.Append(ctx, &Event{Order: 17, State: "paid"}))
	cancel()
	check(orders.Close(context.WithoutCancel(ctx)))
	fmt.Println(orders.Append(context.WithoutCancel(ctx), &Event{Order: 18}))
	// Output: bloblog: Append "orders/europe": the writer is closed
}

// Flush returns when all records are stored, for records that a crash must not lose.
func ExampleWriter_Flush() {
	ctx := context.Background()
	events := newEvents(nil)
	orders, err := events.Writer("orders")
	check(err)
	defer orders.Close(ctx)
	check(orders.Append(ctx, &Event{Order: 17, State: "paid"}))
	if err := orders.Flush(ctx); err != nil {
		check(orders.Flush(ctx)) // continues: no record is stored twice
	}
	n := 0
	for _, err := range events.Between(ctx, "orders", time.Now().Add(-time.Hour), time.Time{}) {
		check(err)
		n++
	}
	fmt.Println(n)
	// Output: 1
}

// A writer is the destination of a slog.Handler.
func ExampleWriter_Write() {
	ctx := context.Background()
	type line struct {
		Time  time.Time
		Msg   string
		Order int
	}
	shop := aztablekit.Open(storagetest.New(nil), "shop", nil)
	lines := bloblog.New(shop, "logs", &bloblog.Options[line]{Time: func(l *line) time.Time { return l.Time }})
	check(shop.Ensure(ctx))
	w, err := lines.Writer("shop")
	check(err)
	began := time.Now()
	slog.New(slog.NewJSONHandler(w, nil)).Info("paid", "order", 17)
	_, err = w.Write(fmt.Appendf(nil, `{"time":%q,"msg":"sent","order":17}`, time.Now().Format(time.RFC3339Nano))) // a line of another source
	check(err)
	check(w.Close(ctx))
	for r, err := range lines.Between(ctx, "shop", began, time.Time{}) {
		check(err)
		fmt.Println(r.Value.Msg, r.Value.Order)
	}
	// Output:
	// paid 17
	// sent 17
}

// The blobs of a source, for other tools, or to delete old ones.
func ExampleLog_Blobs() {
	ctx := context.Background()
	now := time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC)
	shop := aztablekit.Open(storagetest.New(nil), "shop", &aztablekit.Options{Now: func() time.Time { return now }})
	events := bloblog.New[Event](shop, "logs", nil)
	check(shop.Ensure(ctx))
	for range 2 {
		orders, err := events.Writer("orders")
		check(err)
		check(orders.Append(ctx, &Event{Order: 17}))
		check(orders.Close(ctx))
	}
	for b, err := range events.Blobs(ctx, "orders", time.Time{}, time.Time{}) {
		check(err)
		fmt.Println(b.Name, b.First.Format(time.DateTime), b.Size > 0)
	}
	// Output:
	// orders/2014/07/31/1800/000001.log 2014-07-31 18:00:00 true
	// orders/2014/07/31/1800/000002.log 2014-07-31 18:00:00 true
}

// Lines of another form, which must not contain line breaks.
func ExampleOptions_encode() {
	ctx := context.Background()
	events := newEvents(&bloblog.Options[Event]{
		Encode: func(e *Event) ([]byte, error) { return fmt.Appendf(nil, "%d;%s", e.Order, e.State), nil },
		Decode: func(line []byte, e *Event) error {
			_, err := fmt.Sscanf(strings.Replace(string(line), ";", " ", 1), "%d %s", &e.Order, &e.State)
			return err
		},
	})
	orders, err := events.Writer("orders")
	check(err)
	check(orders.Append(ctx, &Event{Order: 17, State: "paid"}))
	fmt.Println(orders.Append(ctx, &Event{Order: 18, State: "line\nbreak"}))
	check(orders.Close(ctx))
	for r, err := range events.Between(ctx, "orders", time.Time{}, time.Time{}) {
		check(err)
		fmt.Println(r.Value.Order, r.Value.State)
	}
	// Output:
	// bloblog: Append "orders": value is encoded with a line break; a record is one line
	// 17 paid
}
