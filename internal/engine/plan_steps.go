package engine

import (
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// newPlan begins the plan of a write, or of its part in one partition.
func newPlan(w *write) *Plan {
	if w.corrections == nil {
		w.corrections, w.entityVersions = map[string]readResult{}, map[string]azcore.ETag{}
	}
	return &Plan{table: w.table, partition: w.partition(), own: map[string]rowReader{}, planned: map[string]edm.Stored{}, corrections: w.corrections, entityVersions: w.entityVersions, rows: map[string]*derivedRow{}, first: map[string]bool{}, blamed: -1}
}

// steps returns the operations on a table that make the derived rows what they are to be. failed is the caller's operation that has
// the derived row of err.
func (p *Plan) steps(t *Table) (steps []step, failed int, err error) {
	steps, ops := make([]step, 0, len(p.order)), make([]Op, len(p.order))
	for i, rk := range p.order {
		d := p.rows[rk]
		if !p.writes(d) {
			continue
		}
		exists, match := p.exists(d)
		s := step{Op: &ops[i], opIndex: d.op, derived: d}
		s.Table, s.Key, s.Match = t, d.key, match
		switch {
		case exists && d.after == nil:
			s.Kind = aztables.TransactionTypeDelete
		case exists && d.merge != nil:
			s.Kind = aztables.TransactionTypeUpdateMerge
		case exists:
			s.Kind = aztables.TransactionTypeUpdateReplace
		default:
			s.Kind, s.Match = aztables.TransactionTypeAdd, ""
		}
		if d.after != nil {
			after := &Row{Key: d.key, Columns: d.after.Columns}
			if s.merges() {
				after.Columns = d.merge
			}
			if s.Body, s.StoresID, err = after.body(d.has(reserved.OperationID) && !d.after.isCopy(), d.has(reserved.Incarnation), d.has(reserved.Parts)); err != nil {
				return nil, d.op, &DerivedError{Maintainer: d.by, Key: d.key, Err: err}
			}
		}
		steps = append(steps, s)
	}
	return steps, -1, nil
}
