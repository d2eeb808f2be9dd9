package engine

import (
	"context"
	"slices"
)

// afterCommit is what is called once a write is known to be committed, in the order of its names.
type afterCommit []namedCall

type namedCall struct {
	name string
	call func(context.Context)
}

// AfterCommit plans a call for the time when the write is known to be committed; see maintain.Plan.AfterCommit.
func (p *Plan) AfterCommit(name string, call func(context.Context)) {
	p.after = slices.DeleteFunc(slices.Clone(p.after), func(c namedCall) bool { return c.name == name })
	if call != nil {
		p.after = append(p.after, namedCall{name, call})
	}
}

// run calls what was planned. The write has ended, so that its own bound of time does not count.
func (all afterCommit) run(ctx context.Context) {
	for _, c := range all {
		c.call(ctx)
	}
}

// Retake plans another content for a row that the same maintainer has planned in this transaction, for the same or for another
// entity. It reports whether there is such a row.
func (p *Plan) Retake(r *Row) (bool, error) {
	if r == nil {
		return false, errNil
	}
	if d := p.rows[r.Key.RowKey()]; d == nil || !d.planned || d.by != p.by {
		return false, nil
	}
	d, err := p.touch(r)
	if err != nil {
		return false, err
	}
	p.make(d, r, d.ifExists)
	return true, nil
}
