package eventual

import "time"

// pace measures how long executions take, to expect how many messages a pool begins within a time.
type pace struct {
	average time.Duration // of the latest executions
	last    time.Time     // when the latest execution ended
}

// add adds an execution that ends now.
func (p *pace) add(now time.Time, took time.Duration) {
	if took = max(took, 1); !p.last.IsZero() {
		took = p.average + (took-p.average)/8
	}
	p.average, p.last = took, now
}

// expect returns how many messages a number of handlers begin within a time, but at most most. If no execution has ended for that
// long, expect returns 0: the running handlers may be slower than those before.
func (p *pace) expect(now time.Time, handlers int, within time.Duration, most int) int {
	if p.last.IsZero() || now.Sub(p.last) > within {
		return 0
	}
	return int(min(float64(handlers)*float64(within)/float64(p.average), float64(most)))
}
