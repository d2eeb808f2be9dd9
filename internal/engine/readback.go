package engine

import (
	"context"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// maxReadBacks is the most rows that are read to learn the outcome of a write.
const maxReadBacks = 10

// readBack reads rows of the write, the refused one first, and at most so many. If one of them contains the operation ID, the write
// was applied, and the caller's other rows are read for their ETags. Deleted rows show nothing.
func (w *write) readBack(ctx context.Context, failed, most int) (etags []azcore.ETag, ours bool, err error) {
	var order []int
	for i := range w.currentPlan.steps {
		switch s := &w.currentPlan.steps[i]; {
		case s.StoresID && i == failed:
			order = slices.Insert(order, 0, i)
		case s.StoresID:
			order = append(order, i)
		}
	}
	at, etag := -1, azcore.ETag("")
	for _, i := range order[:min(len(order), most)] {
		if etag, ours, err = w.readBackRow(ctx, &w.currentPlan.steps[i]); err != nil {
			return nil, false, err
		}
		if at = i; ours {
			break
		}
	}
	if !ours {
		return nil, false, nil
	}
	return w.etags(ctx, at, etag), true, nil
}

// etags reads the ETags of the caller's rows after the write was applied, but for a step whose ETag is known.
func (w *write) etags(ctx context.Context, known int, etag azcore.ETag) []azcore.ETag {
	etags := make([]azcore.ETag, len(w.currentPlan.steps))
	for i := range w.currentPlan.steps {
		switch s := &w.currentPlan.steps[i]; {
		case i == known:
			etags[i] = etag
		case s.deletes(), s.opIndex < 0, s.derived != nil:
		default:
			var err error
			if etags[i], _, err = w.readBackRow(ctx, s); err != nil || etags[i] == "" {
				etags[i] = superseded
			}
		}
	}
	return etags
}

// readBackRow reads a row and reports whether it contains the operation ID. A missing row does not. If the content is what the
// write stored, the ETag is the row's. Otherwise it is superseded, so that the caller's next write cannot overwrite content that
// the caller has not seen. After a merge into a row that was not read, the full content is unknown: the operation ID and the sent
// columns are compared.
func (w *write) readBackRow(ctx context.Context, s *step) (etag azcore.ETag, ours bool, err error) {
	f, err := w.readStep(ctx, s)
	if s.Current != nil {
		*s.Current = f.row
	}
	if err != nil || f.row == nil {
		return "", false, err
	}
	id := idColumn(w.id)
	ours = edm.Same(Find(f.row.Columns, reserved.OperationID), id.Value)
	same := false
	if after, err := w.stored(s).Decoded(); err == nil && after != nil {
		same = len(after) == len(f.row.Columns) && containsAll(f.row.Columns, after)
	} else {
		same = ours && containsAll(f.row.Columns, s.Body.Columns())
	}
	if !same {
		return superseded, ours, nil
	}
	return f.row.ETag, ours, nil
}

// containsAll reports whether columns contain each of some others.
func containsAll(columns, others []edm.Column) bool {
	return !slices.ContainsFunc(others, func(c edm.Column) bool { return !slices.ContainsFunc(columns, c.Same) })
}
