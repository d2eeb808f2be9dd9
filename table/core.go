package table

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// core is what a table is apart from its Go type.
type core struct {
	service Service
	name    string
	client  client
	opt     Common
	tracer  tracing.Tracer

	outbox    Outbox
	exact     bool
	completes *completion
	shared    *shared
}

// shared is what handles share that With and Exact have made of one.
type shared struct {
	repaired atomic.Int64 // derived rows
	probed   atomic.Bool  // the client has the library's policies
	ranged   atomic.Bool  // the client's signature is for a range of keys
	rowsOnly atomic.Bool  // and for a range of rows in their partition
}

// plain is the same table for the library's own rows.
func (c *core) plain() *core {
	plain := *c
	plain.outbox, plain.exact, plain.completes = nil, false, nil
	return &plain
}

func newCore(s Service, name string, o Common) core {
	o = o.WithDefaults()
	return core{service: s, name: name, client: s.NewClient(name), opt: o, shared: new(shared), tracer: o.Tracing.NewTracer("aztablekit", "")}
}

// same tells whether two are the same table as far as can be known: of one service, by the name, whose case means nothing.
func (c *core) same(other *core) bool {
	return strings.EqualFold(c.name, other.name) && (c.shared == other.shared || reflect.ValueOf(c.service).Comparable() && c.service == other.service)
}

// Same tells whether two handles are of the same table, as far as can be known: of one client of the service, by the name.
func Same[A, B any](a *Table[A], b *Table[B]) bool { return a.core.same(&b.core) }

// span begins the span of a verb.
func (c *core) span(ctx context.Context, verb string) (context.Context, func(error)) {
	return runtime.StartSpan(ctx, "aztablekit.Table."+verb, c.tracer, &runtime.StartSpanOptions{
		Attributes: []tracing.Attribute{{Key: "db.collection.name", Value: c.name}},
	})
}

// tryTimeout is the bound of one try, 0 for none.
func (c *core) tryTimeout() time.Duration { return max(c.opt.Retry.AttemptTimeout, 0) }

// write makes one try of a write and judges its outcome.
func (c *core) write(ctx context.Context, op string, k keys.Key, send func(context.Context) error) (err error) {
	ctx, end := c.span(ctx, op)
	defer func() { end(err) }()
	if err := ctx.Err(); err != nil {
		return c.opError(op, k, err) // nothing was sent, so nothing is unknown
	}
	ctx, cancel := bound(ctx, c.opt.WriteTimeout)
	defer cancel()
	var call wire.Call
	if err := call.CheckBare(send(call.Write(ctx, c.tryTimeout()))); err != nil {
		return c.writeError(op, k, &call, err)
	}
	return nil
}
