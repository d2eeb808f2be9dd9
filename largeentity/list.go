package largeentity

import (
	"context"
	"iter"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// listed is a blob of a list.
type listed struct {
	name
	foreign  bool // the name is of another form
	modified time.Time
	pageEnd  bool // it is the last of its page
}

// list yields the blobs whose names begin with a prefix, in the order of their names.
func (c client) list(ctx context.Context, prefix string, pageSize int) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		pages := c.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix, MaxResults: to.Ptr(int32(pageSize))})
		for pages.More() {
			found, err := c.page(ctx, pages.NextPage)
			if err != nil {
				yield(listed{}, err)
				return
			}
			for _, b := range found {
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

func (c client) page(ctx context.Context, next func(context.Context) (container.ListBlobsFlatResponse, error)) (all []listed, err error) {
	ctx, cancel := engine.Bound(ctx, c.opt.ReadTimeout)
	defer cancel()
	var call wire.Call
	resp, err := next(call.Read(ctx))
	if err = call.CheckHeaders(err); err != nil {
		return nil, failed(&call, err)
	}
	if resp.Segment == nil {
		return nil, nil
	}
	for _, b := range resp.Segment.BlobItems {
		if b == nil {
			continue
		}
		n, ok := parseName(deref(b.Name))
		item := listed{name: n, foreign: !ok}
		if b.Properties != nil {
			item.modified = deref(b.Properties.LastModified)
		}
		all = append(all, item)
	}
	if len(all) > 0 {
		all[len(all)-1].pageEnd = true
	}
	return all, nil
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
