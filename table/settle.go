package table

import (
	"cmp"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// settlement is what a write settles of an intent.
type completion struct {
	record *CommitRecord
	effect int
	left   []Effect // what the intent says once the write is done
	state  CommitState
}

// Completing returns a handle for one write that executes the n-th effect of a commit record of this table, as it was read, and
// completes the effect in the same transaction: the commit record loses that effect and gets those of the write instead, for the same
// worker to execute, without another notification. If no effect is left, the record is done. So the effect is executed just once, and
// no effect of the write is lost. The write must be in the record's partition. When it succeeds, i is the record as it is stored then.
//
// Errors: those of the write; ErrChanged also if another worker has completed an effect of the record since it was read: read it
// again; *ValueError for a record that is not live, has no such effect, or was completed by this handle before; ErrOtherPartition.
// Requests: the write's own.
func (t *Table[T]) Completing(i *CommitRecord, n int) *Table[T] {
	c := *t
	c.completes = &completion{record: i, effect: n}
	return &c
}

// settling adds what an operation settles to the write.
func (w *write) addCompletion(s *completion) error {
	switch {
	case s == nil || s == w.completes:
		return nil
	case w.completes != nil:
		return &ValueError{Field: "Completing", Reason: "a transaction can settle one effect"}
	case s.record == nil:
		return &ValueError{Field: "Completing", Reason: "the intent is nil"}
	case s.state != 0:
		return &ValueError{Field: "Completing", Reason: "the handle has settled its effect; it serves one write"}
	case s.record.State != CommitPending || s.effect < 0 || s.effect >= len(s.record.Effects):
		return &ValueError{Field: "Completing", Reason: "the intent is not live, or has no such effect"}
	}
	pk, err := s.record.Partition.Result()
	if err == nil && pk != w.partition() {
		err = ErrOtherPartition
	}
	w.completes = s
	return err
}

// planSettling ends the plan of a write that settles something: the intent's row leads, by its ETag, so that the write fails there
// when it arrives once more.
func (w *write) planCompletion(effects []Effect) (failed int, err error) {
	s := w.completes
	s.left = append(slices.Delete(slices.Clone(s.record.Effects), s.effect, s.effect+1), effects...)
	state := CommitPending
	if len(s.left) == 0 {
		state = CommitDone
	}
	op := Op{core: w.core, kind: aztables.TransactionTypeUpdateReplace, key: recordKey(w.partition(), s.record.OperationID), match: s.record.etag, left: entire, caller: -1, room: true}
	if op.body, err = recordBody(op.key, state, s.left, true); err != nil {
		return -1, err
	}
	w.steps, w.lead = slices.Insert(w.steps, 0, op), true
	return -1, w.ready()
}

// settled makes the intent what is stored.
func (w *write) completed(etags []azcore.ETag) {
	s := w.completes
	if s == nil {
		return
	}
	if s.state = CommitPending; len(s.left) == 0 {
		s.state = CommitDone
	}
	s.record.Effects, s.record.State, s.record.etag = s.left, s.state, cmp.Or(etags[0], superseded)
}
