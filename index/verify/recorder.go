package verify

import (
	"maps"
	"sync"
)

// recorder writes the report, and calls the functions of the options.
type recorder struct {
	fault    func(Fault)
	progress func(Report)

	mu       sync.Mutex
	report   Report
	pending  []string        // PartitionKeys in order, from the first that is not finished
	finished map[string]bool // of these
}

func newRecorder(o *Options) *recorder {
	return &recorder{
		fault:    o.Fault,
		progress: o.Progress,
		report:   Report{Faults: map[FaultKind]int{}, Token: o.Token},
		finished: map[string]bool{},
	}
}

// begin notes that a partition is begun. Partitions are begun in order.
func (r *recorder) begin(partitionKey string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, partitionKey)
}

// finish notes that a partition is finished. The token is behind it only if all partitions before it are finished, too.
func (r *recorder) finish(partitionKey string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.finished[partitionKey] = true; len(r.pending) > 0 && r.finished[r.pending[0]]; r.pending = r.pending[1:] {
		r.report.Token = tokenOf(r.pending[0])
		delete(r.finished, r.pending[0])
	}
}

// count adds to the numbers of the report.
func (r *recorder) count(partitions, entities, rows int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Partitions += partitions
	r.report.Entities += entities
	r.report.Rows += rows
}

func (r *recorder) noteUnconfirmed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Unconfirmed++
}

func (r *recorder) noteFault(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Faults[f.Kind]++
	switch {
	case f.Repaired:
		r.report.Repaired++
	case f.Err != nil:
		r.report.Failed++
	}
	if r.fault != nil {
		r.fault(f)
	}
}

func (r *recorder) noteFaults(all []Fault) {
	for _, f := range all {
		r.noteFault(f)
	}
}

func (r *recorder) noteProgress() {
	if r.progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.report
	report.Faults = maps.Clone(report.Faults)
	r.progress(report)
}
