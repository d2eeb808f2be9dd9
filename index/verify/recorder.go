package verify

import (
	"cmp"
	"context"
	"maps"
	"sync"

	"github.com/aztablekit/aztablekit/internal/engine"
)

// recorder writes the report, and calls the functions of the options.
type recorder struct {
	fault    func(Fault)
	progress func(Report)
	log      engine.Log

	mu       sync.Mutex
	report   Report
	pending  []string        // PartitionKeys in order, from the first that is not finished
	finished map[string]bool // of these
	repaired map[string]int  // faults, by the PartitionKeys of partitions that are not finished
}

func newRecorder(o *Options, log engine.Log) *recorder {
	return &recorder{
		log:      log,
		fault:    o.Fault,
		progress: o.Progress,
		report:   Report{Faults: map[FaultKind]int{}, Token: o.Token},
		finished: map[string]bool{},
		repaired: map[string]int{},
	}
}

// begin notes that a partition is begun. Partitions are begun in order.
func (r *recorder) begin(partitionKey string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, partitionKey)
}

// finish notes that a partition is finished, and logs how many rows were repaired. The token is behind the partition only if all
// partitions before it are finished, too.
func (r *recorder) finish(ctx context.Context, partitionKey string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.repaired[partitionKey]; n > 0 {
		log := r.log
		log.Partition = partitionKey
		log.Repaired(ctx, n)
		delete(r.repaired, partitionKey)
	}
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

func (r *recorder) notePending() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Pending++
}

func (r *recorder) noteFinished(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Finished += n
}

func (r *recorder) noteNotified() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Notified++
}

func (r *recorder) noteFault(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Faults[f.Kind]++
	switch {
	case f.Repaired:
		r.report.Repaired++
		r.repaired[cmp.Or(f.Row.PartitionKey(), f.Entity.PartitionKey())]++
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
