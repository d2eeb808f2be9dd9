package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// entityState is what the row of an entity contains for its maintainers.
type entityState struct {
	incarnation string
	tags        string // of other maintainers
	before      map[string][]string
	after       map[string][]string

	newIncarnation bool // the incarnation was created by this write
	isNew          bool // there is no row yet
	stored         bool // the row has the property
	corrupt        bool // the property cannot be read
}

// stateOf reads the state from a row. If only the maintainer state is corrupt, the rest comes with the error.
func stateOf(old edm.Stored, k keys.Key) (*entityState, error) {
	s := &entityState{before: map[string][]string{}, after: map[string][]string{}}
	if !old.Known() {
		s.isNew = true
		return s, nil
	}
	r, _, err := old.Open(k.PartitionKey(), k.RowKey())
	if err != nil {
		return nil, err
	}
	incarnation, err1 := r.Property(reserved.Incarnation)
	ix, err2 := r.Property(reserved.MaintainerState)
	tags, err3 := r.Property(reserved.Owner)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	s.stored = ix.Kind != edm.Absent
	if commit.IsID(incarnation.S) {
		s.incarnation = incarnation.S
	}
	if strings.HasPrefix(tags.S, "/") {
		s.tags = tags.S
	}
	before, err := stored.StateIn(ix, k.RowKey())
	if err != nil {
		s.corrupt = true
		return s, err
	}
	s.before = before
	return s, nil
}

// write writes the maintainer state. Without derived rows, the property is stored empty, so that "no rows" differs from "state
// lost". The empty property has no header, because a header contains the RowKey, and other programs may copy the row to another
// key. A row whose state is lost stays without the property: its derived rows may still exist.
func (s *entityState) write(w *edm.Writer, rowKey string, merge, maintained bool) error {
	b := []byte{}
	if len(s.after) > 0 {
		b = stored.EncodeState(s.after, rowKey)
	}
	if len(b) > stored.MaxState {
		return &errs.LimitError{Property: true, Field: reserved.MaintainerState, Limit: "bytes of maintainer state of an entity", Got: len(b), Max: stored.MaxState}
	}
	if len(s.after) > 0 || s.stored && (merge || maintained) || s.isNew && maintained {
		w.Put(reserved.MaintainerState, edm.Value{Kind: edm.Binary, B: b})
	}
	return nil
}

// put adds the state to an operation that stores the row, or merges into it. maintained reports that the handle has maintainers.
func (s *entityState) put(op *Op, maintained bool) (err error) {
	merge := op.merges()
	maps.DeleteFunc(s.after, func(_ string, texts []string) bool { return len(texts) == 0 })
	same := !s.corrupt && maps.EqualFunc(s.before, s.after, slices.Equal)
	if merge && same && !s.newIncarnation {
		return nil
	}
	w := edm.NewWriter(op.Key.PartitionKey(), op.Key.RowKey(), len(op.Body.Columns())+4)
	for _, c := range op.Body.Columns() {
		switch c.Name {
		case reserved.OperationID, reserved.Incarnation, reserved.MaintainerState, reserved.Owner:
		default:
			w.PutColumn(c)
		}
	}
	if s.tags != "" {
		w.Put(reserved.Owner, edm.Value{Kind: edm.String, S: s.tags})
	}
	if s.incarnation != "" {
		w.Put(reserved.Incarnation, edm.Value{Kind: edm.String, S: s.incarnation})
	}
	if !merge || !same {
		if err := s.write(w, op.Key.RowKey(), merge, maintained); err != nil {
			return err
		}
	}
	if op.StoresID {
		w.Reserve(stored.UnassignedID)
	}
	op.Body, err = w.Finish()
	return err
}
