package lease

import "time"

// Believe makes a holder believe in its lease for a day, as one whose clocks stand still.
func (l *Lease) Believe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lasts = 24 * time.Hour
	l.ended = nil
}

// Fail ends the belief of a holder whose last renewal has failed.
func (l *Lease) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lasts, l.ended, l.failed = 0, nil, err
}
