package series

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Slots divides time into periods, and each period into slots. A period is a day or a year of a
// time zone. It is stored as one entity, or as several if it has too many slots, and each slot is a
// property. [Every], [Days] and [Named] return Slots. The zero value is invalid.
//
// Each instant is in exactly one slot. If the clock is set back, the repeated hour has slots of its
// own. A day begins at the first instant at which the clock shows its date or a later one, and goes
// on if the clock is then set back over midnight. A day that the clock skips has no slots. The
// clock of a time zone is at most 48 hours from UTC.
//
// All programs that use a series must use the same Slots, because stored rows do not name the time
// zone. If the rules of a time zone change later, stored values keep their places: on a day that
// changed, a value may then belong to another time, and the value of a slot that the day no longer
// has is left out. Use UTC if that must not happen.
type Slots struct {
	zone  *time.Location
	every time.Duration // of a slot of a day; 0 for days of a year and for slots with names
	named []namedSlot   // of a day
	per   int           // slots in an entity, if every is not 0
	err   error
}

// Slot is a place for a value.
type Slot struct {
	Period   string    // such as 2014-07-31 or 2014, in the RowKey
	Name     string    // such as H07 or D0731, the property
	From, To time.Time // From ≤ t < To
}

// namedSlot is a slot of a day with a name.
type namedSlot struct {
	name string        // of the property
	from time.Duration // since midnight, by the local clock
}

const (
	maxInEntity = 250    // slots; the 252 properties of an entity include the operation ID
	maxInDay    = 10_000 // slots of 24 hours
	day         = 24 * time.Hour
)

// Every returns the slots of a length of each day. Those of time.Hour are H00 to H23, and others
// are named by the time since the beginning of the day: T1435, or T143510 for slots of less than a
// minute. Time is counted from the beginning of the day: if the clock is set by an hour, the day
// has H00 to H22 or H00 to H24, and the later hours differ from the hours of the clock. If it is
// set by half an hour, the last hour of the day is half an hour. The length must be whole seconds
// and divide a day into at most 10,000 slots. A day of more than 250 slots is stored in several
// entities of the same number of slots: of 5 minutes, 2014-07-31 has T0000 to T1155, and
// 2014-07-31_01 has T1200 to T2355. A nil zone is UTC. New returns the *table.ValueError or
// *table.LimitError of a wrong length.
func Every(length time.Duration, zone *time.Location) Slots {
	s := newSlots(Slots{zone: zone, every: length, per: maxInEntity})
	if length < time.Second || length%time.Second != 0 || day%length != 0 {
		s.err = &table.ValueError{Field: "Every.length", Reason: fmt.Sprintf("is %v; it must be whole seconds and divide 24 hours into equal slots", length)}
		return s
	}
	n := int(day / length)
	if n > maxInDay {
		s.err = &table.LimitError{Field: "Every.length", Limit: "slots in a day", Got: n, Max: maxInDay}
		return s
	}
	if n > maxInEntity {
		entities := (n + maxInEntity - 1) / maxInEntity
		for n%entities != 0 {
			entities++
		}
		s.per = n / entities
	}
	return s
}

// Days returns the days of each year, as D0101 to D1231. The row 2014 has the days to June, and
// 2014_01 the days from July. A nil zone is UTC.
func Days(zone *time.Location) Slots { return newSlots(Slots{zone: zone}) }

// Named returns slots of each day with names, by the local clock, as properties of the row
// 2014-07-31. The slots are given as the times since midnight at which they begin. The first begins
// at 0, and each slot ends when the next one begins:
//
//	series.Named(berlin, map[string]time.Duration{"Night": 0, "Early": 6 * time.Hour, "Late": 14 * time.Hour})
//
// If the clock is set forward over a whole slot, the day lacks that slot. A nil zone is UTC. New
// returns a *table.ValueError or *table.LimitError for slots of which none begins at 0 or two begin
// together, for more than 250, and for names that no property can have.
func Named(zone *time.Location, slots map[string]time.Duration) Slots {
	var named []namedSlot
	for name, from := range slots {
		named = append(named, namedSlot{name, from})
	}
	slices.SortFunc(named, func(a, b namedSlot) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.name, b.name))
	})
	s := newSlots(Slots{zone: zone, named: named})
	switch {
	case len(named) == 0 || named[0].from != 0:
		s.err = &table.ValueError{Field: "Named.slots", Reason: "must begin with a slot from 0"}
	case len(named) > maxInEntity:
		s.err = &table.LimitError{Field: "Named.slots", Limit: "slots of a day", Got: len(named), Max: maxInEntity}
	}
	for i, p := range named {
		switch err := new(table.Row).Set(p.name, int64(0)); {
		case s.err != nil:
		case err != nil:
			s.err = err
		case p.from >= day, i > 0 && p.from == named[i-1].from:
			s.err = &table.ValueError{Field: "Named.slots", Reason: fmt.Sprintf("slot %s begins at %v; a slot must begin after the one before it, and before 24 hours", p.name, p.from)}
		}
	}
	return s
}

func newSlots(s Slots) Slots {
	s.zone = cmp.Or(s.zone, time.UTC)
	if _, seconds := new(time.Time).In(s.zone).Zone(); time.Duration(seconds).Abs() > maxOffset/time.Second {
		s.err = &table.ValueError{Field: "Slots.zone", Reason: fmt.Sprintf("is %v, %v from UTC; at most %v are possible", s.zone, time.Duration(seconds)*time.Second, maxOffset)}
	}
	return s
}

// check returns a *table.ValueError or *table.LimitError for invalid Slots.
func (s Slots) check() error {
	if s.err == nil && s.zone == nil {
		return &table.ValueError{Field: "series.Slots", Reason: "is the zero value; use Every, Days or Named"}
	}
	return s.err
}

// yearly reports whether a period is a year.
func (s Slots) yearly() bool { return s.every == 0 && s.named == nil }

// At returns the slot of a time. Errors: *keys.KeyError for a time outside the years 1 to 9999;
// *table.ValueError or *table.LimitError for invalid Slots.
func (s Slots) At(t time.Time) (Slot, error) {
	c, err := s.cellAt(t)
	return c.Slot, err
}

// All returns the slots of the period of a time, in order. Errors: *keys.KeyError for a time
// outside the years 1 to 9999; *table.ValueError or *table.LimitError for invalid Slots.
func (s Slots) All(t time.Time) (all []Slot, err error) {
	p, err := s.periodOf(t)
	if err != nil {
		return nil, err
	}
	for _, c := range s.cells(p) {
		all = append(all, c.Slot)
	}
	return all, nil
}

// cell is a slot and the entity in which it is stored.
type cell struct {
	Slot
	date   time.Time // the first of the period
	entity int       // of the period, from 0
}

// layout is how a period is written, for time.Format.
func (s Slots) layout() string {
	if s.yearly() {
		return "2006"
	}
	return time.DateOnly
}

// periodOf returns the first date of the period of a time.
func (s Slots) periodOf(t time.Time) (date time.Time, err error) {
	if err := s.check(); err != nil {
		return date, err
	}
	far := t.Before(earliest) || t.After(latest)
	if !far {
		date = dayOf(t, s.zone)
	}
	if far || date.Year() < 1 || date.Year() > 9999 {
		return date, &keys.KeyError{Value: t.Format(time.RFC3339), Reason: "is outside the years 1 to 9999"}
	}
	if s.yearly() {
		date = firstOfYear(date)
	}
	return date, nil
}

// A time before earliest or after latest is outside the years 1 to 9999 in each time zone. The days
// of times at the ends of what a time.Time can be would not fit into one.
var (
	earliest = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(10001, 1, 1, 0, 0, 0, 0, time.UTC)
)

func firstOfYear(date time.Time) time.Time { return date.AddDate(0, 0, 1-date.YearDay()) }

// next returns the first date of the next period.
func (s Slots) next(p time.Time) time.Time {
	if s.yearly() {
		return p.AddDate(1, 0, 0)
	}
	return dayAfter(p)
}

// bounds returns when a period begins and ends.
func (s Slots) bounds(p time.Time) (from, to time.Time) {
	return startOf(p, s.zone), startOf(s.next(p), s.zone)
}

// parsePeriod returns the first date of a period, and whether the text is one.
func (s Slots) parsePeriod(text string) (p time.Time, is bool) {
	p, err := time.Parse(s.layout(), text)
	return p, err == nil && p.Year() > 0
}

// rowKey returns the RowKey of an entity of a period, without what the owner adds.
func (s Slots) rowKey(p time.Time, entity int) string {
	text := p.Format(s.layout())
	if entity == 0 {
		return text
	} else {
		return fmt.Sprintf("%s_%02d", text, entity)
	}
}

// parseRowKey is the inverse of rowKey.
func (s Slots) parseRowKey(key string) (p time.Time, entity int, is bool) {
	text, number, _ := strings.Cut(key, "_")
	p, is = s.parsePeriod(text)
	entity, _ = strconv.Atoi(number) // 0 if there is none; another text does not give the key again
	return p, entity, is && entity >= 0 && entity < s.maxEntities() && s.rowKey(p, entity) == key
}

// maxEntities returns how many entities a period can have: a day has at most 48 hours, if a time
// zone repeats a whole day.
func (s Slots) maxEntities() int {
	switch {
	case s.yearly():
		return 2
	case s.every > 0:
		return (2*int(day/s.every) + s.per - 1) / s.per
	}
	return 1
}

// cellAt returns the cell of a time.
func (s Slots) cellAt(t time.Time) (c cell, err error) {
	p, err := s.periodOf(t)
	switch {
	case err != nil:
		return c, err
	case s.yearly():
		return s.dayCell(dayOf(t, s.zone)), nil
	case s.every > 0:
		from, to := s.bounds(p)
		return s.elapsedCell(p, from, to, int(t.Sub(from)/s.every)), nil
	}
	all := s.cells(p)
	i := slices.IndexFunc(all, func(c cell) bool { return t.Before(c.To) })
	return all[i], nil
}

// cells returns the cells of a period, in order.
func (s Slots) cells(p time.Time) (all []cell) {
	from, to := s.bounds(p)
	switch {
	case s.yearly():
		for date := p; date.Year() == p.Year(); date = dayAfter(date) {
			all = append(all, s.dayCell(date))
		}
	case s.every > 0:
		for i := 0; from.Add(time.Duration(i) * s.every).Before(to); i++ {
			all = append(all, s.elapsedCell(p, from, to, i))
		}
	default:
		for i, slot := range s.named {
			end := to
			if i+1 < len(s.named) {
				end = firstAt(p.Add(s.named[i+1].from), s.zone)
			}
			all = append(all, cell{Slot{p.Format(s.layout()), slot.name, firstAt(p.Add(slot.from), s.zone), end}, p, 0})
		}
	}
	return slices.DeleteFunc(all, func(c cell) bool { return !c.From.Before(c.To) }) // the clock was set forward over the slot
}

// dayCell returns the cell of a day of a year.
func (s Slots) dayCell(date time.Time) cell {
	half := 0
	if date.Month() >= time.July {
		half = 1
	}
	slot := Slot{date.Format(s.layout()), date.Format("D0102"), startOf(date, s.zone), startOf(dayAfter(date), s.zone)}
	return cell{slot, firstOfYear(date), half}
}

// elapsedCell returns the i-th cell of a day that begins and ends at these times.
func (s Slots) elapsedCell(p, from, to time.Time, i int) cell {
	since := time.Duration(i) * s.every
	c := cell{Slot{p.Format(s.layout()), s.nameOf(since), from.Add(since), from.Add(since + s.every)}, p, i / s.per}
	if c.To.After(to) {
		c.To = to
	}
	return c
}

// nameOf returns the name of the slot that begins at a time since the beginning of the day.
func (s Slots) nameOf(since time.Duration) string {
	h, m, sec := int(since.Hours()), int(since.Minutes())%60, int(since.Seconds())%60
	switch {
	case s.every%time.Minute != 0:
		return fmt.Sprintf("T%02d%02d%02d", h, m, sec)
	case s.every == time.Hour:
		return fmt.Sprintf("H%02d", h)
	}
	return fmt.Sprintf("T%02d%02d", h, m)
}

// Number is the type of the values of a series. An int32 is stored as Edm.Int32, an int and an
// int64 as Edm.Int64, a float64 as Edm.Double.
type Number interface {
	~int | ~int32 | ~int64 | ~float64
}

// property returns a value as it is stored: as an int32, an int64 or a float64.
func property[V Number](name string, v V) (any, error) {
	switch x := reflect.ValueOf(v); x.Kind() {
	case reflect.Int32:
		return int32(x.Int()), nil
	case reflect.Float64:
		if f := x.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, &table.ValueError{Property: true, Field: name, Reason: fmt.Sprintf("is %v, which has no sum; a slot without a value is absent", f)}
		}
		return x.Float(), nil
	default:
		return x.Int(), nil
	}
}

// number returns a stored property as a value. A whole number may be of another type, because
// another program has stored it, if its value fits.
func number[V Number](name string, x any) (v V, err error) {
	want := reflect.TypeFor[V]()
	switch x := x.(type) {
	case int32:
		return number[V](name, int64(x))
	case int64:
		if v = V(x); int64(v) == x && !(want.Kind() == reflect.Float64 && x == math.MaxInt64) { // no float64 is math.MaxInt64
			return v, nil
		}
		return 0, &table.DecodeError{Field: name, Reason: fmt.Sprintf("is %d, which no %v is", x, want)}
	case float64:
		if want.Kind() == reflect.Float64 {
			return V(x), nil
		}
	}
	return 0, &table.DecodeError{Field: name, Reason: fmt.Sprintf("is a %T, and the values of the series are %v", x, want)}
}

// sum returns a + b.
func sum[V Number](name string, a, b V) (V, error) {
	s := a + b
	if b > 0 && s < a || b < 0 && s > a {
		return 0, &table.ValueError{Property: true, Field: name, Reason: fmt.Sprintf("is %v, and %v more exceeds the range of %v", a, b, reflect.TypeFor[V]())}
	}
	return s, nil
}

// change returns the change of a row that stores a value.
func change(name string, x any) table.Set[table.Row] {
	switch x := x.(type) {
	case int32:
		return table.PropertyOf[int32](name).Set(x)
	case float64:
		return table.PropertyOf[float64](name).Set(x)
	default:
		return table.PropertyOf[int64](name).Set(x.(int64))
	}
}
