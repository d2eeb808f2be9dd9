package transfer

import (
	"maps"

	"github.com/aztablekit/aztablekit/table"
)

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
