// Package lease lets one of several programs do something at a time, and lets storage refuse the
// writes of all others.
//
//	leases := lease.New(company, "leases", nil) // in an aztablekit.Store
//
//	err := leases.Try(ctx, "invoices", func(ctx context.Context, held *lease.Lease) error {
//		sales, err := held.In(ctx, staff, dept.Of("Sales")) // enters a partition of data
//		if err != nil {
//			return err
//		}
//		… // until ctx ends:
//		_, err = table.Transact(ctx, sales.Guard(), staff.ReplaceOp(jones))
//		return err
//	})
//
// [Leases.Try] calls the function if no other program has the lease, renews the lease while the
// function runs, and releases it. It is for a job that several machines begin, and one of them
// does. [Leases.Elect] waits for the lease. [Leases.Acquire] acquires a lease that the program
// renews and releases itself.
//
// # Why a guard
//
// No lease can stop a program that sleeps: it wakes when its lease is over, does not know yet, and
// writes. So a holder enters each partition that it writes, with a fence that is greater than all
// before. This deletes the guard of the holder before, and the transactions that require that guard
// ([Partition.Guard]) are refused by storage, whatever the sleeper believes. Systems outside of the
// store can compare [Lease.Fence].
//
// # Guarantees
//
//   - Once a later holder has entered a partition, no transaction with the guard of an earlier one
//     is applied there. This depends on no clock.
//   - Fences grow with each acquisition, and two holders never have the same, as long as the table
//     of leases is not restored or dropped. In finds out if it was.
//   - If the clocks of two machines run at the same rate, to 2 percent, the belief of a holder ends
//     before another one can have the lease: at least 2 seconds. What the clocks say does not
//     matter. The age of a lease is measured by the service.
//   - Renewals of a holder, and its transactions with a guard, never refuse each other.
//
// # Not guaranteed
//
// Work without a guard may overlap: of a machine that was suspended, with other tables, with
// queues, or with other systems. A new holder is not told what the one before has left undone.
// Waiting programs have no order.
//
// # Costs
//
// A holder sends 1 request for each third of the time to live, and a waiting program 1 for each
// time to live. A guard costs no request, and one of the 100 operations of a transaction. To
// acquire takes 2 requests, to enter a partition 2, to release 1. Rows: one for each lease, and two
// in each partition for each lease whose holders have entered it. They stay. docs/leases.md says
// more.
package lease
