package crashtest

import (
	"context"

	"github.com/aztablekit/aztablekit/storagetest"
)

// Workload is the program under test. The function that builds a Workload is called for each run, so the state that the functions
// of a Workload share is new in each run.
type Workload struct {
	// Setup fills the account before the first fault. May be nil.
	Setup func(ctx context.Context, p *Process) error

	// Processes are under test. They may fail, crash and run at the same time, so shared state needs a lock. A returned error is a
	// violation in the run without faults, and is ignored in other runs: if Check needs the results of the processes, the Workload
	// stores them. A panic is always a violation.
	Processes []func(ctx context.Context, p *Process) error

	// Drain runs after the Processes, as workers and sweepers do, until no work is left. Drain runs without faults, in another
	// process, while late requests arrive, and again after the last late request. An error is a violation. May be nil.
	Drain func(ctx context.Context, p *Process) error

	// Invariant must return nil after Setup, and after each later request that reaches the account. Invariant reads the Service and
	// must not send requests. May be nil.
	Invariant func(s *storagetest.Service) error

	// Check must return nil at the end of the run. May be nil.
	Check func(s *storagetest.Service) error
}
