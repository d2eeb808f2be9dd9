package edm

import "slices"

// Stored is the content of a stored entity: the JSON that was read, or the columns that were written. The zero value is content that is not
// known.
type Stored struct {
	JSON    []byte
	Columns []Column // nil if they are not decoded
}

// Known reports whether the content is known.
func (s Stored) Known() bool { return s.JSON != nil || s.Columns != nil }

// Open returns a reader that has read the entity. The keys are those of an entity that is known by its columns.
func (s Stored) Open(partitionKey, rowKey string) (*Reader, Entity, error) {
	if s.JSON != nil {
		r := NewReader(s.JSON)
		in, err := r.One()
		return r, in, err
	}
	e := Entity{PartitionKey: partitionKey, RowKey: rowKey}
	return readColumns(e, s.Columns), e, nil
}

// readColumns returns a reader that has read an entity of these columns.
func readColumns(e Entity, columns []Column) *Reader {
	r := NewReader(nil)
	r.entity = e
	for i := range columns {
		from := len(r.scratch)
		r.scratch = append(r.scratch, columns[i].Name...)
		r.members = append(r.members, member{name: r.scratch[from:len(r.scratch):len(r.scratch)], column: &columns[i]})
	}
	return r
}

// Decoded returns the columns.
func (s Stored) Decoded() ([]Column, error) {
	if s.Columns != nil || s.JSON == nil {
		return s.Columns, nil
	}
	r, _, err := s.Open("", "")
	if err != nil {
		return nil, err
	}
	return r.Columns()
}

// Overlay returns the stored entity with the columns in set in place of its own: what a merge makes of a row. Those in except are left
// out, and room is counted for reserve, if it is a column. Errors: *LimitError if the entity becomes too large.
func (s Stored) Overlay(partitionKey, rowKey string, set []Column, reserve Column, except ...string) (Stored, error) {
	old, err := s.Decoded()
	if err != nil {
		return Stored{}, err
	}
	w := NewWriter(partitionKey, rowKey, len(old)+len(set)+1)
	for _, c := range old {
		if !slices.ContainsFunc(set, func(s Column) bool { return s.Name == c.Name }) && !slices.Contains(except, c.Name) {
			w.Put(c.Name, c.Value)
		}
	}
	for _, c := range set {
		w.Put(c.Name, c.Value)
	}
	if reserve.Name != "" {
		w.Reserve(reserve)
	}
	body, err := w.Finish()
	return Stored{Columns: body.Columns}, err
}
