// Package stacks stores stacks with their charts, within the quotas of teams. A stack has all of its charts and is counted, or nothing of it is stored.
package stacks

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// Quota is how many stacks a team may have, and how many it has.
type Quota struct {
	Team        string
	Used, Limit int
}

// Stack is stored by team. It names its charts.
type Stack struct {
	Team, Name string
	Charts     []string `table:",json"`
}

// Chart is stored by stack.
type Chart struct {
	Team, Stack, Name string
	Version           string
}

var (
	ofTeam = keys.Partition(keys.Text(), func(q *Quota) *string { return &q.Team })
	quota  = keys.OneRow[Quota]("quota") // a team has one

	team = keys.Partition(keys.Text(), func(s *Stack) *string { return &s.Team })
	name = keys.Row(keys.Text().Named("stack"), func(s *Stack) *string { return &s.Name })

	ofStack = keys.Partition2(keys.Text(), keys.Text(), func(c *Chart) (*string, *string) { return &c.Team, &c.Stack }) // web_shop
	chart   = keys.Row(keys.Text().Named("chart"), func(c *Chart) *string { return &c.Name })
)

// Stacks is the stacks of all teams.
type Stacks struct {
	*aztablekit.Store
	Quotas *table.Table[Quota]
	Stacks *table.Table[Stack]
	Charts *table.Table[Chart]
}

// Open declares the three tables. Call Ensure of the result when the program starts, and Run in one program, which finishes what crashed programs have begun.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Stacks {
	s := aztablekit.Open(acc, "stacks", o)
	return &Stacks{s, aztablekit.Table(s, "quotas", ofTeam, quota), aztablekit.Table(s, "stacks", team, name), aztablekit.Table(s, "charts", ofStack, chart)}
}

// Allow gives a new team its quota, table.ErrExists if it has one. 1 request.
func (s *Stacks) Allow(ctx context.Context, of string, stacks int) error {
	_, err := s.Quotas.Insert(ctx, &Quota{Team: of, Limit: stacks})
	return err
}

// ErrQuota: the team has as many stacks as it may have.
var ErrQuota = errors.New("the quota of the team is used up")

// Create stores a new stack with up to 98 charts, and counts it. The names of the team and the stack are set in the charts. If it fails, nothing is stored: ErrQuota;
// table.ErrExists if the stack exists, or one of its charts; table.ErrNotFound for a team without a quota; *table.ValueError for two charts of one name;
// table.ErrContended if concurrent writers change the quota at every attempt. After table.ErrUnknownOutcome, everything is stored or nothing; the error is an
// *table.UnknownError, which can be resolved. 8 requests; 1 for ErrQuota, and about 20 for table.ErrExists, since some rows are prepared before one is refused.
func (s *Stacks) Create(ctx context.Context, of, stack string, charts ...Chart) error {
	return txn.Run(ctx, s, func(tx *txn.Tx) error {
		q, err := txn.Get(tx, s.Quotas, s.Quotas.Key(Quota{Team: of}))
		if err != nil {
			return err
		}
		if q.Value.Used >= q.Value.Limit {
			return ErrQuota
		}
		q.Value.Used++
		created := &Stack{Team: of, Name: stack}
		for _, c := range charts {
			c.Team, c.Stack = of, stack
			created.Charts = append(created.Charts, c.Name)
			tx.Do(s.Charts.InsertOp(&c))
		}
		tx.Do(s.Quotas.ReplaceOp(q), s.Stacks.InsertOp(created))
		return nil
	})
}

// Get returns a stack and its charts as they are at one moment, table.ErrNotFound for none. 1 request, and 2 for each chart.
func (s *Stacks) Get(ctx context.Context, of, stack string) (found Stack, charts []Chart, err error) {
	err = txn.Run(ctx, s, func(tx *txn.Tx) error {
		e, all, err := s.get(tx, of, stack)
		if err != nil {
			return err
		}
		found, charts = e.Value, nil
		for _, c := range all {
			charts = append(charts, c.Value)
		}
		return nil
	})
	return found, charts, err
}

// Delete deletes a stack with its charts, and takes it from the quota; table.ErrNotFound for none. Its other errors are those of Create. 9 requests, and 1 for each chart.
func (s *Stacks) Delete(ctx context.Context, of, stack string) error {
	return txn.Run(ctx, s, func(tx *txn.Tx) error {
		e, charts, err := s.get(tx, of, stack)
		if err != nil {
			return err
		}
		q, err := txn.Get(tx, s.Quotas, s.Quotas.Key(Quota{Team: of}))
		if err != nil {
			return err
		}
		q.Value.Used--
		tx.Do(s.Quotas.ReplaceOp(q), s.Stacks.DeleteOp(e))
		for _, c := range charts {
			tx.Do(s.Charts.DeleteOp(c))
		}
		return nil
	})
}

// get reads a stack and the charts that it names. A transaction reads no lists, so the stack has their names.
func (s *Stacks) get(tx *txn.Tx, of, stack string) (e *table.Entity[Stack], charts []*table.Entity[Chart], err error) {
	if e, err = txn.Get(tx, s.Stacks, keys.At(team.Of(of), name.Of(stack))); err != nil {
		return nil, nil, err
	}
	for _, n := range e.Value.Charts {
		c, err := txn.Get(tx, s.Charts, keys.At(ofStack.Of(of, stack), chart.Of(n)))
		if err != nil {
			return nil, nil, err
		}
		charts = append(charts, c)
	}
	return e, charts, nil
}
