package engine

import (
	"context"
	"sync"

	"github.com/aztablekit/aztablekit/internal/pace"
)

// What the service promises to take in a second, of an account and of a partition.
const (
	accountRate   = 20_000
	partitionRate = 2_000
)

// bulkPace limits how many rows bulk work writes in a second, in all and in each partition. A partition has its debt until it is
// paid, whether it has operations or not.
type bulkPace struct {
	all *pace.Limit

	mu         sync.Mutex
	partition  int // 0 for no limit
	partitions map[groupKey]*pace.Limit
}

func newBulkPace(o BulkOptions) *bulkPace {
	return &bulkPace{all: pace.New(o.Rate), partition: o.PartitionRate, partitions: map[groupKey]*pace.Limit{}}
}

// slowDown sets the limits that the user has not set.
func (p *bulkPace) slowDown() {
	p.all.AtMost(accountRate)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.partition == 0 {
		p.partition = partitionRate
		clear(p.partitions) // they have no limit
	}
}

// of returns the limit of a partition.
func (p *bulkPace) of(k groupKey) *pace.Limit {
	const many = 10_000
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.partitions[k]
	if l == nil {
		if len(p.partitions) >= many {
			for k, l := range p.partitions {
				if l.Paid() {
					delete(p.partitions, k)
				}
			}
		}
		l = pace.New(p.partition)
		p.partitions[k] = l
	}
	return l
}

// wait waits until the rows of a partition's earlier transactions are paid for. It returns the meter of the next one.
func (p *bulkPace) wait(ctx context.Context, k groupKey) (*meter, error) {
	err := p.of(k).Wait(ctx)
	if err == nil {
		err = p.all.Wait(ctx)
	}
	return new(meter), err
}

// charge takes the rows of a transaction, those of maintainers included.
func (p *bulkPace) charge(k groupKey, m *meter) {
	if m.busy.Load() {
		p.slowDown()
	}
	p.of(k).Charge(int(m.rows.Load()))
	p.all.Charge(int(m.rows.Load()))
}
