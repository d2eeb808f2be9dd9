package maintain

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/table"
)

// AfterCommit plans a call of f for the time when the transaction is known to be committed, before the method that writes
// returns. Meanwhile, the outbox may show the notification of the write. It is for work whose loss does no harm, such as the
// deletion of blobs that the entity does not refer to any more, and f reports its own errors: f is not called after a crash, nor
// after a write whose outcome stayed unknown, nor if an earlier plan of the write may have been committed. Work that must be done
// is a [Plan.Effect]. A later call with the same name replaces f; a nil f removes it.
func (p *Plan) AfterCommit(name string, f func(context.Context)) { p.plan.AfterCommit(name, f) }

// NotAfter lets the transaction not be sent after a time by the clock of the table's options, also if the program is suspended once
// the transaction is planned. The write is then planned again, so that the maintainer can refuse it. Of several times, the earliest
// counts.
func (p *Plan) NotAfter(t time.Time) { p.plan.NotAfter(t) }

// Retake plans another content for a row that this maintainer has planned in this transaction, perhaps for another entity, and
// reports whether there is such a row. So an entity can take over what another entity of the transaction gives up.
func (p *Plan) Retake(r *table.Row) (bool, error) {
	ok, err := p.plan.Retake(r.Engine())
	return ok, p.refused(err)
}

// Archived reports whether the entity is deleted because package archive has stored it in its destination. What the entity refers to
// must then stay.
func (c *Change[T]) Archived() bool { return c.change.Archived() }

// Restored returns the incarnation that the inserted entity had in the destination of package archive, "" if the entity does not
// come from there.
func (c *Change[T]) Restored() string { return c.change.Restored() }
