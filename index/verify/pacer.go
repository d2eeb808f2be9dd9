package verify

import (
	"context"
	"sync"
	"time"
)

// pacer limits how many rows are read and written in a second.
type pacer struct {
	rate int // 0 for no limit

	mu   sync.Mutex
	next time.Time // when more rows may be read or written
}

// pace waits until n more rows may be read or written. It is called before rows are written, and for each row that was read.
func (p *pacer) pace(ctx context.Context, n int) error {
	if p.rate <= 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(n) * time.Second / time.Duration(p.rate))
	wait := p.next.Sub(now)
	p.mu.Unlock()
	if wait < time.Millisecond {
		return ctx.Err() // too short for a timer; the next call waits for both
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pageSize returns how many rows to read with a request: not more than may be read in a second; 0 for the service's limit.
func (p *pacer) pageSize() int {
	if p.rate <= 0 {
		return 0
	}
	return min(p.rate, 1000)
}
