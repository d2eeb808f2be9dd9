package engine

import (
	"cmp"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// complete adds what an operation completes to the write.
func (w *write) setCompletion(c *Completion) error {
	fail := func(reason string) error { return &ValueError{Field: "Completing", Reason: reason} }
	switch {
	case c == nil || c == w.completes:
		return nil
	case w.completes != nil:
		return fail("a transaction can complete one effect")
	case !c.Valid:
		return fail("the commit record is nil")
	case c.done:
		return fail("the handle has completed its effect; it serves one write")
	case c.Record.State != RecordPending || c.Effect < 0 || c.Effect >= len(c.Record.Effects):
		return fail("the commit record is not pending, or has no such effect")
	case c.Record.Partition != w.partition():
		return ErrOtherPartition
	}
	w.completes = c
	return nil
}

// completion is the first step of a write that completes an effect: the row of the commit record, by its ETag, so that the write
// fails there when it arrives once more.
func (w *write) completionStep(effects []Effect) (step, error) {
	c := w.completes
	c.left = append(slices.Delete(slices.Clone(c.Record.Effects), c.Effect, c.Effect+1), effects...)
	state := RecordPending
	if len(c.left) == 0 {
		state = RecordDone
	}
	s := step{Op: &Op{Table: w.table, Kind: aztables.TransactionTypeUpdateReplace, Key: RecordKey(w.partition(), c.Record.OperationID), Match: c.Record.ETag, StoresID: true}, opIndex: -1}
	var err error
	s.Body, err = recordBody(s.Key, state, c.left, true)
	return s, err
}

// completed makes the commit record what is stored.
func (w *write) updateCompleted(etags []azcore.ETag) {
	c := w.completes
	if c == nil {
		return
	}
	c.done = true
	etag := etags[0]
	if w.currentPlan.record { // the write's own comes first
		etag = etags[len(etags)-1]
	}
	c.Record.Effects, c.Record.State, c.Record.ETag = c.left, RecordPending, cmp.Or(etag, superseded)
	if len(c.left) == 0 {
		c.Record.State = RecordDone
	}
	c.Applied(c.Record)
}
