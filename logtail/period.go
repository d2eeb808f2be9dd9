package logtail

import "time"

// Unit is the length of a period, by the calendar of UTC.
type Unit int

// The units. The names of tables are a prefix and the digits of the period.
const (
	Daily   Unit = iota // claims20140731
	Monthly             // claims201407
	Hourly              // claims2014073118
)

// String returns the name of the unit, such as "daily".
func (u Unit) String() string {
	switch u {
	case Daily:
		return "daily"
	case Monthly:
		return "monthly"
	case Hourly:
		return "hourly"
	}
	return "invalid"
}

// layout is how the digits of a period begin a time.
func (u Unit) layout() string {
	switch u {
	case Monthly:
		return "200601"
	case Hourly:
		return "2006010215"
	}
	return "20060102"
}

// start returns the beginning of the period of a time.
func (u Unit) start(t time.Time) time.Time {
	t = t.UTC()
	switch u {
	case Monthly:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	case Hourly:
		return t.Truncate(time.Hour)
	}
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// add returns the beginning of the period n periods after the one that begins at start.
func (u Unit) add(start time.Time, n int) time.Time {
	switch u {
	case Monthly:
		return start.AddDate(0, n, 0)
	case Hourly:
		return start.Add(time.Duration(n) * time.Hour)
	}
	return start.AddDate(0, 0, n)
}

// shortest returns the length of the shortest period.
func (u Unit) shortest() time.Duration {
	switch u {
	case Monthly:
		return 28 * 24 * time.Hour
	case Hourly:
		return time.Hour
	}
	return 24 * time.Hour
}

// digits returns the digits of the period of a time.
func (u Unit) digits(t time.Time) string { return t.UTC().Format(u.layout()) }

// parse returns the beginning of the period with these digits, and whether it has them.
func (u Unit) parse(digits string) (start time.Time, is bool) {
	start, err := time.Parse(u.layout(), digits)
	return start, err == nil
}

// State is what has become of the table of a period.
type State string

// The states, in their order. The name of a table is never used again.
const (
	StateOpen     State = "open"     // Create has made the table, or is about to
	StateDropping State = "dropping" // Drop has begun to delete the table
	StateDropped  State = "dropped"  // the table does not exist any more
)

// Period is a period of a log, with its table.
type Period struct {
	From, To time.Time // From ≤ time < To
	Table    string
	State    State
}
