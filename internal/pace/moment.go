package pace

import "time"

// Moment is a time by two clocks: the wall clock, which may be set, and the monotonic one, which stands still while a machine is suspended.
type Moment struct{ Wall, Monotonic time.Time }

// MomentOf returns the moment by the program's clock and by the monotonic one.
func MomentOf(now func() time.Time) Moment {
	return Moment{now().Round(0), time.Now()} // the program's clock may be set, and carry a monotonic reading that was changed as well
}

// Since returns the time from one moment to a later one, by the clock that has gone further.
func (m Moment) Since(before Moment) time.Duration {
	return max(m.Wall.Sub(before.Wall), m.Monotonic.Sub(before.Monotonic))
}
