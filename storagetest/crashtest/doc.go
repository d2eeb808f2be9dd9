// Package crashtest tests a protocol over storage for lost, repeated, late and refused requests, for crashes of processes, and for races. It
// runs a [Workload] on an in-memory account of package storagetest many times, each time with other faults. A check of your own runs
// after each run and, if you ask for it, after each request.
//
//	func TestTransfer(t *testing.T) {
//		crashtest.Enumerate(t, transfer, nil).Require(t)
//		crashtest.Schedules(t, transfer, nil).Require(t)
//	}
//
//	func transfer() crashtest.Workload {
//		return crashtest.Workload{
//			Setup:     func(ctx context.Context, p *crashtest.Process) error { … }, // tables, first rows
//			Processes: []func(ctx context.Context, p *crashtest.Process) error{ … }, // what is tested
//			Drain:     func(ctx context.Context, p *crashtest.Process) error { … }, // workers, until nothing is left to do
//			Check:     func(s *storagetest.Service) error { … },                    // what must be true in the end
//		}
//	}
//
// A [Process] is the Transport of the clients that it makes. After it dies, none of its requests reaches the account.
//
// [Enumerate] is exhaustive. It counts the requests of a run without faults. Then it makes a run for each request and each fault
// that the request can have, for the process dying before and after the request, and for the request arriving late, or once more, between
// any two later requests; for short workloads, also for each pair of these. The processes run one after the other.
//
// [Schedules] is random. All processes run at once, and each request is held until it is chosen. A seed decides the order, the faults, and
// how much time passes. The seed of a failed run is printed and repeats the run.
//
// Every run is in a bubble of testing/synctest: waiting costs no time, and a request that hangs ends with its context.
//
// To see that a test can fail, plant the bug that the test is for.
package crashtest
