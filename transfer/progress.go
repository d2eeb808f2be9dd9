package transfer

import (
	"maps"

	"github.com/aztablekit/aztablekit/table"
)

// addProgress adds to the numbers of a progress.
func addProgress(p *table.Progress, done table.Progress) {
	p.Rows += done.Rows
	p.Changed += done.Changed
	p.Skipped += done.Skipped
	p.Faults += done.Faults
	for name, n := range done.Counts {
		addCount(p, name, n)
	}
}

// addCount adds to one of the counts of a progress.
func addCount(p *table.Progress, name string, n int) {
	if n == 0 {
		return
	}
	if p.Counts == nil {
		p.Counts = map[string]int{}
	}
	p.Counts[name] += n
}

// copyOf returns a progress that later work does not change.
func copyOf(p table.Progress) table.Progress {
	p.Counts = maps.Clone(p.Counts)
	return p
}
