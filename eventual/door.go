package eventual

import (
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/table"
)

func init() { door.Workers = doors{} }

// doors makes what a store has, for other packages of this module; see package door.
type doors struct{}

func (doors) Outbox(queue, o any) (any, error) {
	q, _ := queue.(Queue)
	return newOutbox(q, o.(*table.Common))
}

func (doors) Worker(queue, poison, handlers, o any) (any, error) {
	q, _ := queue.(Queue)
	p, _ := poison.(Queue)
	return newWorker(q, p, handlers.([]Handler), o.(*WorkerOptions))
}
