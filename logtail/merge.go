package logtail

import (
	"iter"

	"golang.org/x/sync/errgroup"
)

// merge yields the records of lists that have the newest first, the newest of all first. The first records of the lists are read
// at the same time.
func merge[T any](lists []iter.Seq2[*Record[T], error]) iter.Seq2[*Record[T], error] {
	if len(lists) == 1 {
		return lists[0]
	}
	return func(yield func(*Record[T], error) bool) {
		heads := make([]head[T], len(lists))
		var reading errgroup.Group
		reading.SetLimit(maxConcurrent)
		for i, list := range lists {
			h := &heads[i]
			h.next, h.stop = iter.Pull2(list)
			defer h.stop()
			reading.Go(func() error { h.read(); return nil })
		}
		reading.Wait()
		for {
			var newest *head[T]
			for i := range heads {
				h := &heads[i]
				switch {
				case h.err != nil:
					yield(nil, h.err)
					return
				case h.record != nil && (newest == nil || h.record.Key.RowKey() < newest.record.Key.RowKey()):
					newest = h
				}
			}
			if newest == nil || !yield(newest.record, nil) {
				return
			}
			newest.read()
		}
	}
}

// head is the newest record of a list that is not yielded yet, nil at the end.
type head[T any] struct {
	record *Record[T]
	err    error
	next   func() (*Record[T], error, bool)
	stop   func()
}

func (h *head[T]) read() { h.record, h.err, _ = h.next() }

// maxConcurrent is the most partitions that are read at the same time.
const maxConcurrent = 32
