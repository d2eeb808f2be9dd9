package largeentity

import (
	"context"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/internal/blobs"
)

// listed is a blob of a list.
type listed struct {
	name
	foreign  bool // the name is of another form
	modified time.Time
}

// list yields the blobs whose names begin with a prefix, in the order of their names.
func (c client) list(ctx context.Context, prefix string) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		for b, err := range blobs.List(ctx, c.container, prefix, c.opt.ReadTimeout, failed) {
			if err != nil {
				yield(listed{}, err)
				return
			}
			if n, ok := parseName(b.Name); !yield(listed{n, !ok, b.Modified}, nil) {
				return
			}
		}
	}
}

// merged reads two lists side by side, which are both in the order of the IDs of a partition. It finds the items of the second list by
// those of the first.
type merged[V any] struct {
	open   func(partition, id string) iter.Seq2[V, error]
	nameOf func(V) (n name, ok bool)

	next      func() (V, error, bool)
	stop      func()
	partition string
	last      string // the ID that was asked for last
	ahead     *V     // the item that was read last
}

// find returns the item of a name, nil if there is none.
func (m *merged[V]) find(n name) (*V, error) {
	if m.next == nil || n.partition != m.partition || n.id < m.last {
		m.close()
		m.next, m.stop = iter.Pull2(m.open(n.partition, n.id))
		m.partition, m.ahead = n.partition, nil
	}
	m.last = n.id
	for {
		if m.ahead == nil {
			v, err, ok := m.next()
			switch {
			case !ok:
				return nil, nil
			case err != nil:
				m.close()
				return nil, err
			}
			m.ahead = &v
		}
		is, ok := m.nameOf(*m.ahead)
		switch {
		case ok && is.id == n.id:
			return m.ahead, nil
		case ok && is.id > n.id:
			return nil, nil
		}
		m.ahead = nil
	}
}

func (m *merged[V]) close() {
	if m.stop != nil {
		m.stop()
	}
	m.next, m.stop = nil, nil
}
