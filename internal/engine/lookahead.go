package engine

import (
	"context"
	"maps"

	"github.com/aztablekit/aztablekit/keys"
)

// readTogether reads a row that the plan of an operation loads, together with the rows that the operations after it load first. For
// that, it makes a preview of their plans. Rows that they load afterwards are read together the next time. read reports whether there
// was more than one row; otherwise none was read.
func (p *Plan) readTogether(ctx context.Context, t *Table, row keys.Key, later []step) (read bool, err error) {
	c := p.copyRows()
	c.preview, c.others = &preview{rows: []keys.Key{row}}, noOthers{}
	c.corrections, c.entityVersions = maps.Clone(p.corrections), maps.Clone(p.entityVersions)
	for _, s := range later {
		if s.needsPlanning {
			_ = s.readAndMaintain(ctx, c) // it ends at the first row that is not known; another error comes again with the plan itself
		}
	}
	if len(c.preview.rows) < 2 {
		return false, nil
	}
	ahead := make([]wantedRow, len(c.preview.rows))
	for i, row := range c.preview.rows {
		ahead[i] = wantedRow{table: t, key: row}
	}
	return true, p.ahead.read(ctx, ahead)
}

// noOthers are the plans of other partitions in a preview: there are none.
type noOthers struct{}

func (noOthers) planOf(rowReader, string) (*Plan, error) { return nil, errPreview }
func (noOthers) copyFor(*Plan) otherPlans                { return noOthers{} }
func (noOthers) dropCorrections()                        {}
