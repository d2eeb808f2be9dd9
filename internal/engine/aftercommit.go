package engine

import (
	"context"
	"slices"
)

// afterCommit is what is called once a write is known to be committed. It is never changed, but replaced.
type afterCommit []namedCall

type namedCall struct {
	name string
	call func(context.Context)
}

// with returns the calls with another one in place of the one of this name, or without that if call is nil.
func (all afterCommit) with(name string, call func(context.Context)) afterCommit {
	all = slices.DeleteFunc(slices.Clone(all), func(c namedCall) bool { return c.name == name })
	if call != nil {
		all = append(all, namedCall{name, call})
	}
	return all
}

// run makes the calls. The write has ended, so that its own bound of time does not count.
func (all afterCommit) run(ctx context.Context) {
	for _, c := range all {
		c.call(ctx)
	}
}
