package engine

import "github.com/aztablekit/aztablekit/internal/edm"

// step is an operation of a transaction.
type step struct {
	*Op                     // shared with other steps and the caller's Op, until own
	opIndex     int         // the caller's operation that the step is, or follows from; -1 for none
	derived     *derivedRow // nil for an operation of the caller's
	replannable bool        // the row was read for the operation, so that it may be planned again after a conflict
	head        *edm.Body   // of a wide entity, what is sent of Body in the head; nil if that is all of it
	id          *edm.Ending // of the write; nil if the row gets none
}

// own gives the step an operation of its own. Whatever changes the operation calls it first.
func (s *step) own() {
	op := *s.Op
	s.Op = &op
}

// sent returns what is sent in the row of the step.
func (s *step) sent() *edm.Body {
	if s.head != nil {
		return s.head
	}
	return &s.Body
}
