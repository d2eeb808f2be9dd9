package bloblog

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// Blob is a blob of a log. It may be of another program that uses such names, as the service does for its own logs in container
// $logs.
type Blob struct {
	Name   string // such as orders/2014/07/31/1800/000001.log
	Source string
	Hour   time.Time // the beginning of the hour of its records, in UTC
	Number int       // the number of the blob in the hour; starts with 1, or with 0 for the service's own logs

	// No record is earlier than First or later than Last. While the blob is written, and after a crash of its writer, First is the
	// beginning of the hour, and Last is zero. Both are zero if another program has stored the blob without them.
	First, Last time.Time

	Size int64 // in bytes, when it was listed
}

// Blobs yields the blobs of a source that may contain records with from ≤ time < to, in the order of their names: by hour and
// number. A zero from is no bound, and a zero to is an hour from now by the reader's clock. Blobs whose names have another form
// are left out, and so are blobs of other sources, such as a/b for a.
//
// Errors: *table.ValueError and *table.LimitError for a source that is invalid (see [Log.Writer]), and for a time outside the years
// 1 to 9999; ErrContainerNotFound; table.ErrUnreachable; the service's own error.
//
// Requests: 1 for each 1,000 blobs of the source in the hour, if from and to are in one hour. Else for each day of the range up to
// 10 days, for each month up to 10 months, for each year up to 10 years, or for all of the source and the
// sources below it, such as a/b for a; at least 1 for each of them.
func (l *Log[T]) Blobs(ctx context.Context, source string, from, to time.Time) iter.Seq2[*Blob, error] {
	return func(yield func(*Blob, error) bool) {
		for b, err := range l.blobs(ctx, source, from, l.until(to)) {
			if err != nil {
				yield(nil, fmt.Errorf("bloblog: Blobs %q: %w", source, err))
				return
			}
			if !yield(b.public(), nil) {
				return
			}
		}
	}
}

func (b listed) public() *Blob {
	return &Blob{b.name.String(), b.name.source, b.name.hour, b.name.number, b.metadata.first, b.metadata.last, b.length}
}

// until returns the end of a range, an hour from now for a zero time.
func (l *Log[T]) until(to time.Time) time.Time {
	if to.IsZero() {
		to = l.client.opt.Now().Add(time.Hour)
	}
	return to
}

// blobs is Blobs for other methods. It takes no zero to.
func (l *Log[T]) blobs(ctx context.Context, source string, from, to time.Time) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		for _, err := range []error{checkSource(source), checkTime("from", from), checkTime("to", to.Add(-1))} {
			if err != nil {
				yield(listed{}, err)
				return
			}
		}
		if !from.Before(to) {
			return
		}
		first, last := hourOf(from), hourOf(to.Add(-1))
		for _, prefix := range prefixes(source, first, last) {
			for b, err := range l.client.list(ctx, prefix) {
				switch {
				case err != nil:
					yield(listed{}, err)
					return
				case b.name.source != source, b.name.hour.Before(first), b.name.hour.After(last), !b.metadata.overlaps(from, to):
				case !yield(b, nil):
					return
				}
			}
		}
	}
}

// maxPrefixes is the most lists that are made instead of one of a longer time.
const maxPrefixes = 10

// prefixes returns what the names of the blobs of the hours from first to last begin with, as few as possible, unless they are the
// beginnings of many other names.
func prefixes(source string, first, last time.Time) []string {
	if first.Equal(last) {
		return []string{name{source: source, hour: first}.prefix()}
	}
	for _, unit := range []struct {
		layout              string
		years, months, days int
	}{{"2006/01/02", 0, 0, 1}, {"2006/01", 0, 1, 0}, {"2006", 1, 0, 0}} {
		var all []string
		at, _ := time.Parse(unit.layout, first.Format(unit.layout))
		for ; !at.After(last) && len(all) <= maxPrefixes; at = at.AddDate(unit.years, unit.months, unit.days) {
			all = append(all, source+"/"+at.Format(unit.layout)+"/")
		}
		if len(all) <= maxPrefixes {
			return all
		}
	}
	return []string{source + "/"}
}
