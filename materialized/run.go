package materialized

import (
	"sync"

	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/keys"
)

// VerifyOptions are the options of [Verify]. The zero value compares everything and changes nothing.
type VerifyOptions struct {
	// Partition is the only partition of entities to verify. Unset means all.
	Partition keys.Enc

	// Repair repairs faults, and deletes old tombstones. Without it, Verify only reports faults.
	Repair bool

	// Rate is the most rows that are read and written in a second, repairs included; 0 means no limit.
	Rate int

	// Fault is called for each fault. No two calls overlap.
	Fault func(Fault)
}

// run is one call of Verify.
type run struct {
	options VerifyOptions
	pace    *pace.Limit

	mu     sync.Mutex
	report Report
}

// note counts something in the report.
func (r *run) note(count func(*Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count(&r.report)
}

// fault counts and reports a fault.
func (r *run) fault(f Fault) {
	r.note(func(report *Report) {
		report.Faults[f.Kind]++
		if f.Repaired {
			report.Repaired++
		}
		if r.options.Fault != nil {
			r.options.Fault(f)
		}
	})
}
