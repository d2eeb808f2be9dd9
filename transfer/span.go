package transfer

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/keys"
)

// place is a place among the rows of a table: before the row of a key, if there is one. Its JSON is
// [PartitionKey, RowKey].
type place struct{ pk, rk string }

func (p place) compare(q place) int {
	return cmp.Or(keys.Compare(p.pk, q.pk), keys.Compare(p.rk, q.rk))
}

// behind is the first place behind a row: no key of the service has a character below a space.
func behind(k keys.Key) place { return place{k.PartitionKey(), k.RowKey() + " "} }

// MarshalJSON implements json.Marshaler.
func (p place) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{p.pk, p.rk}) }

// UnmarshalJSON implements json.Unmarshaler.
func (p *place) UnmarshalJSON(b []byte) error {
	var two []string
	if err := json.Unmarshal(b, &two); err != nil {
		return err
	}
	if len(two) != 2 {
		return errors.New("a place is not a PartitionKey and a RowKey")
	}
	p.pk, p.rk = two[0], two[1]
	return nil
}

// span is a part of a table: the rows from a place up to another one, to the end of the table if To
// is nil.
type span struct {
	From place  `json:"from"`
	To   *place `json:"to,omitempty"`
}

// spanOf returns the span of a range of partitions, of the whole table if the range is unset.
func spanOf(in keys.PartitionRange) (s span, err error) {
	if !in.IsSet() || in.Err() != nil {
		return s, in.Err()
	}
	from, to, closed := in.Bounds()
	s.From = place{pk: from}
	switch {
	case closed: // a point, too
		s.To = &place{pk: to + " "}
	case to != "":
		s.To = &place{pk: to}
	}
	return s, nil
}

// contains reports whether a row is in the span.
func (s span) contains(p place) bool { return s.From.compare(p) <= 0 && s.reaches(p) }

// reaches reports whether a place is before the end of the span.
func (s span) reaches(p place) bool { return s.To == nil || p.compare(*s.To) < 0 }

func (s span) isEmpty() bool { return !s.reaches(s.From) }

// sameEnd reports whether two spans end at the same place.
func (s span) sameEnd(o span) bool {
	if s.To == nil || o.To == nil {
		return s.To == o.To
	}
	return *s.To == *o.To
}

// intersect returns what two spans have in common.
func (s span) intersect(o span) span {
	if s.From.compare(o.From) < 0 {
		s.From = o.From
	}
	if s.To == nil || o.To != nil && o.To.compare(*s.To) < 0 {
		s.To = o.To
	}
	return s
}

// filters returns the filters of the queries that read the span, in the order of its rows: of the
// rest of its first partition, of the partitions between, and of the beginning of its last one. A
// filter that compared both keys at once would make the service read the whole table.
func (s span) filters() (all []string) {
	add := func(f *query.Filter) { all = append(all, f.String()) }
	from := s.From.pk
	if s.From.rk != "" {
		var f query.Filter
		f.Key(edm.PartitionKey, "eq", from)
		f.Key(edm.RowKey, "ge", s.From.rk)
		if s.To != nil && s.To.pk == from {
			f.Key(edm.RowKey, "lt", s.To.rk)
		}
		add(&f)
		from += " "
	}
	if s.To == nil || keys.Compare(from, s.To.pk) < 0 {
		var f query.Filter
		if from != "" {
			f.Key(edm.PartitionKey, "ge", from)
		}
		if s.To != nil {
			f.Key(edm.PartitionKey, "lt", s.To.pk)
		}
		add(&f)
	}
	if s.To != nil && s.To.rk != "" && keys.Compare(from, s.To.pk) <= 0 {
		var f query.Filter
		f.Key(edm.PartitionKey, "eq", s.To.pk)
		f.Key(edm.RowKey, "lt", s.To.rk)
		add(&f)
	}
	return all
}

// gaps returns what spans leave out of a whole one.
func gaps(whole span, covered []span) (left []span) {
	if whole.isEmpty() {
		return nil
	}
	slices.SortFunc(covered, func(a, b span) int { return a.From.compare(b.From) })
	at := whole.From
	for _, s := range covered {
		if !whole.reaches(at) {
			return left
		}
		if at.compare(s.From) < 0 {
			end := s.From
			if !whole.reaches(end) {
				return append(left, span{at, whole.To})
			}
			left = append(left, span{at, &end})
		}
		if s.To == nil {
			return left
		}
		if at.compare(*s.To) < 0 {
			at = *s.To
		}
	}
	if rest := (span{at, whole.To}); !rest.isEmpty() {
		left = append(left, rest)
	}
	return left
}
