package extend_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// staffWithLetters opens a table of an example's own, whose writes have effects: a letter for each new last name.
func staffWithLetters() (*table.Table[employee], *memoryOutbox) {
	out := &memoryOutbox{}
	staff, err := staffOf(&extend.Host{Tables: storagetest.New(nil).Tables(), Outbox: out}, letters{})
	check(err)
	return staff, out
}

// A worker reads the effects of a write from its commit record, executes them, and marks the record done.
func ExampleRecords() {
	ctx := context.Background()
	staff, out := staffWithLetters()
	_, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)

	records := extend.RecordsOf(staff)
	for _, n := range out.notes {
		record, err := records.Resolve(ctx, keys.RawPartition(n.Partition), n.OperationID)
		check(err)
		if record.State != extend.Pending {
			continue // not committed, or executed already
		}
		for _, effect := range record.Effects {
			fmt.Printf("%s %d of %s: %s\n", effect.Kind, effect.Version, effect.RowKey, effect.Payload)
		}
		check(records.MarkDone(ctx, record))
		fmt.Println(record.State)
	}
	// Output:
	// letter 1 of empid_000001: Dear Jones
	// done
}

// A log contains the state and the effects of a record, without their payloads.
func ExampleRecord_LogValue() {
	ctx := context.Background()
	staff, out := staffWithLetters()
	_, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	record, err := extend.RecordsOf(staff).Get(ctx, dept.Of("Sales"), out.notes[0].OperationID)
	check(err)
	for _, a := range record.LogValue().Group() {
		if a.Key == "state" || a.Key == "effects" {
			fmt.Println(a)
		}
	}
	// Output:
	// state=pending
	// effects=[letter version 1 of empid_000001, 10 bytes]
}

// An effect that is a write in the same partition is executed and completed in one transaction. Here the effect is
// a change of the employee's own row.
func ExampleCompleting() {
	ctx := context.Background()
	staff, out := staffWithLetters()
	e, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	record, err := extend.RecordsOf(staff).Get(ctx, keys.RawPartition("Sales"), out.notes[0].OperationID)
	check(err)
	before := record.Version()

	check(extend.Completing(staff, record, 0).Merge(ctx, e, age.Set(45)))
	fmt.Println(record.State, len(record.Effects), record.Version() != before)
	// Output: done 0 true
}

// Resolve finds out whether a write was committed. A year later, a missing commit record proves nothing.
func ExampleRecords_Resolve() {
	ctx := context.Background()
	staff, _ := staffWithLetters()
	id := "01KAJ5ZVW0ABCDEFGHJKMNPQRS" // from a message
	_, err := extend.RecordsOf(staff).Resolve(ctx, keys.RawPartition("Sales"), id)
	fmt.Println(errors.Is(err, errs.ErrExpired))
	// Output: true
}

// Pending yields the writes whose effects are still to be executed, even if their notifications are lost.
func ExampleRecords_Pending() {
	ctx := context.Background()
	staff, out := staffWithLetters()
	_, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	for partition, err := range staff.Partitions(ctx, keys.PartitionRange{}) {
		check(err)
		for id, err := range extend.RecordsOf(staff).Pending(ctx, partition, "", time.Now().Add(time.Hour)) {
			check(err)
			fmt.Println(partition, id == out.notes[0].OperationID)
		}
	}
	// Output: Sales true
}

// Commit records are listed by the time of their writes, and swept 25 hours later.
func ExampleRecords_Sweep() {
	ctx := context.Background()
	base, err := openStaffOn(storagetest.New(nil), nil)
	check(err)
	staff := base.Exact()
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	records := extend.RecordsOf(staff)
	for record, err := range records.List(ctx, keys.RawPartition("Sales"), time.Now().Add(time.Minute)) {
		check(err)
		fmt.Println(record.State, len(record.Effects), time.Since(record.Time()) < time.Minute)
	}
	n, err := records.Sweep(ctx, keys.RawPartition("Sales")) // the record is younger than 25 hours
	fmt.Println(n, err)
	// Output:
	// done 0 true
	// 0 <nil>
}

// SweepAll deletes the old commit records of all partitions.
func ExampleSweepAll() {
	ctx := context.Background()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	o := &table.Options{}
	o.Now = func() time.Time { return now }
	base, err := openStaffOn(storagetest.New(nil), o)
	check(err)
	staff := base.Exact()
	for _, d := range []string{"Marketing", "Sales"} {
		_, err := staff.Insert(ctx, &employee{d, 1, "Jones", 44})
		check(err)
	}
	now = now.Add(26 * time.Hour)
	n, _, err := extend.SweepAll(ctx, staff, keys.PartitionRange{})
	fmt.Println(n, err)
	// Output: 2 <nil>
}

// FinishPrepared ends the writes over several partitions whose programs have crashed, if their messages were lost.
func ExampleRecords_FinishPrepared() {
	ctx := context.Background()
	staff, _ := staffWithLetters()
	e, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	e.Value.Department = "Marketing"
	check(staff.Move(ctx, e))
	for partition, err := range staff.Partitions(ctx, keys.PartitionRange{}) {
		check(err)
		n, err := extend.RecordsOf(staff).FinishPrepared(ctx, partition, time.Now().Add(-10*time.Minute), nil)
		fmt.Println(partition, n, err)
	}
	// Output:
	// Marketing 0 <nil>
	// Sales 0 <nil>
}
