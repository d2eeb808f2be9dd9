// Package dispatch gives tasks to workers: one of several programs leads, and gives out all tasks.
package dispatch

import (
	"context"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/table"
)

// Task is stored by queue.
type Task struct {
	Queue, Name string
	Worker      string // who works on it
	Leader      int64  // the fence of the leader that has given it out
}

var (
	queue = keys.Partition(keys.Text(), func(t *Task) *string { return &t.Queue })
	name  = keys.Row(keys.Text().Named("task"), func(t *Task) *string { return &t.Name })
)

// Program is one of the programs that stand for election.
type Program struct {
	*aztablekit.Store
	Tasks  *table.Table[Task]
	leases *lease.Leases
}

// Open declares the table of the tasks, and that of the leases. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, owner string, o *aztablekit.Options) *Program {
	s := aztablekit.Open(acc, "dispatch", o)
	return &Program{s, aztablekit.Table(s, "tasks", queue, name), lease.New(s, "leases", &lease.Options{Owner: owner, TTL: 6 * time.Second})}
}

// Leader is a program that leads.
type Leader struct {
	program   *Program
	held      *lease.Lease
	partition *lease.Partition
}

// Lead waits until the program leads a queue, and calls f. The context of f ends when the program leads no more, or when ctx ends; f should then return. Call Lead again
// to stand for election again. A program that does not go on any more is followed by another one within 10 s. 1 request each 6 s while another program leads; 4 to begin,
// 1 each 2 s, and 1 to end.
func (p *Program) Lead(ctx context.Context, of string, f func(ctx context.Context, l *Leader) error) error {
	return p.leases.Elect(ctx, "queue."+of, func(ctx context.Context, held *lease.Lease) error {
		partition, err := held.In(ctx, p.Tasks, queue.Of(of))
		if err != nil {
			return err
		}
		return f(ctx, &Leader{p, held, partition})
	})
}

// Give gives a task to a worker, whichever worker had it before: lease.ErrLost if the program leads no more. 2 requests.
func (l *Leader) Give(ctx context.Context, of, task, worker string) error {
	t := &Task{Queue: of, Name: task, Worker: worker, Leader: l.held.Fence()}
	_, err := table.Transact(ctx, l.partition.Guard(), l.program.Tasks.UpsertOp(t, table.ReplaceExisting))
	return err
}

// Given yields the tasks of a queue. 1 request for each 1,000.
func (p *Program) Given(ctx context.Context, of string) iter.Seq2[Task, error] {
	return func(yield func(Task, error) bool) {
		for t, err := range p.Tasks.List(ctx, table.Query[Task]{Partition: queue.Of(of)}) {
			if err != nil {
				yield(Task{}, err)
				return
			}
			if !yield(t.Value, nil) {
				return
			}
		}
	}
}
