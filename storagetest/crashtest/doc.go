// Package crashtest tests programs that use a storage account for lost, duplicated, late and
// refused requests, for crashes, and for races. It runs a [Workload] many times on an account of
// package storagetest, each time with other faults, and checks the account after each run.
//
//	func TestPayment(t *testing.T) {
//		crashtest.Enumerate(t, payment, nil).Require(t)
//		crashtest.Schedules(t, payment, nil).Require(t)
//	}
//
//	func payment() crashtest.Workload {
//		return crashtest.Workload{
//			Setup:     func(ctx context.Context, p *crashtest.Process) error { … }, // creates tables and rows
//			Processes: []func(ctx context.Context, p *crashtest.Process) error{pay}, // are under test
//			Drain:     func(ctx context.Context, p *crashtest.Process) error { … }, // runs workers until no work is left
//			Check:     func(s *storagetest.Service) error { … },                    // checks the account at the end
//		}
//	}
//
// A [Process] is the Transport of the clients that its function makes. After a crash, no request of
// the process reaches the account.
//
// [Enumerate] is exhaustive. It counts the requests of a run without faults. Then it makes one run
// for each request and each fault of the request, including a crash before and after the request,
// late arrival, and a late duplicate between any two later requests. A short workload also has a
// run for each pair of faults. The processes run one after the other.
//
// [Schedules] is random. All processes run at once, and each request waits for its release. A seed
// determines the order of the requests, the faults, and the passing of time. A failed run prints
// its seed, and the seed reproduces the run.
//
// Each run is in a bubble of testing/synctest, so waiting costs no time, and a hanging request ends
// with its context.
//
// To check that a test can fail, introduce the bug that the test should find.
package crashtest
