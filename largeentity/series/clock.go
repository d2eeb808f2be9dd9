package series

import "time"

// A date is a day by the local clock, stored as its midnight in UTC.

// dateOf returns the date that the clock of t shows.
func dateOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// maxOffset is more than the offset of any time zone from UTC. Only time.FixedZone makes others, which no Slots have.
const maxOffset = 48 * time.Hour

// firstAt returns the first instant at which the clock of a time zone shows a reading, or a later one. A reading is the time in UTC
// that looks the same. If the clock is set forward over the reading, the instant is that of the change. If the clock is set back
// and shows the reading again, the instant is the first of the two. So later readings never have earlier instants.
func firstAt(reading time.Time, zone *time.Location) time.Time {
	from := reading.Add(-maxOffset).In(zone)
	for {
		_, offset := from.Zone()
		at := reading.Add(-time.Duration(offset) * time.Second).In(zone)
		if at.Before(from) {
			at = from
		}
		_, end := from.ZoneBounds()
		if !end.IsZero() && !end.After(from) { // ZoneBounds takes a year by rule for 365 days, which ends before a 31 December
			end = from.Add(time.Hour)
		}
		if end.IsZero() || at.Before(end) {
			return at
		}
		from = end
	}
}

// startOf returns the first instant of a day.
func startOf(date time.Time, zone *time.Location) time.Time { return firstAt(date, zone) }

func dayAfter(date time.Time) time.Time { return date.AddDate(0, 0, 1) }

// dayOf returns the day of an instant. This is not always the date that the clock shows: if the clock is set back over midnight,
// the new day goes on. So each instant is in one day, and a day is one span of time.
func dayOf(t time.Time, zone *time.Location) (date time.Time) {
	date = dateOf(t.In(zone))
	for !startOf(dayAfter(date), zone).After(t) {
		date = dayAfter(date)
	}
	return date
}
