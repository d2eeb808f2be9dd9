// Package crashtest finds what goes wrong with a protocol over storage when requests are lost, repeated, late or refused, when
// processes die, and when several run at once. It runs a [Workload] on an in-memory account of package storagetest, again and
// again, each time with other mishaps, and checks after each run, and if it is asked to after each request, what must be true.
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
// A [Process] is the Transport of the clients that it makes; when it dies, nothing of it reaches the account any more.
//
// [Enumerate] is exhaustive: it counts the requests of a run without faults, and then makes a run for each request and each
// fault that it can have, for the process dying before and after it, and for its arriving late, or once more, between any two
// of those that come after it; for short workloads, for each pair of these. The processes run one after the other.
//
// [Schedules] is random: all processes run at once, each request is held, and one at a time is let go, in an order and with
// mishaps that a seed decides, and time passes in between. The seed of a run that fails is printed and repeats it.
//
// Every run is in a bubble of testing/synctest, so waiting costs no time, and what hangs ends with its context.
//
// Whether a test can find anything is a fair question. Plant the mistake that it is for, and see.
package crashtest
