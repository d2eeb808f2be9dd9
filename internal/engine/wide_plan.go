package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// partsMaintainer is the name by which errors call the engine as the maker of the rows of parts.
const partsMaintainer = "parts"

// planParts plans the rows of the parts of a wide entity, and determines what is sent in its head. Parts that do not change are not
// written.
func (s *step) planParts(p *Plan) error {
	if s.Table.Mode.Parts == 0 {
		if hasParts(s.Before) {
			return ErrUnknownParts
		}
		return nil
	}
	old, err := s.Before.Decoded()
	if err != nil {
		return err
	}
	known := s.Before.Known() && !(s.Known && s.Upgraded) // else it is not what is stored
	if !s.Before.Known() && s.Head != nil {
		old = s.Head.Columns
	}
	dir, err := directoryIn(old)
	if err != nil {
		return err
	}
	p.beginMaintainer(s.opIndex, s.Key, partsMaintainer, edm.MaxPart)
	if s.deletes() {
		for _, part := range dir {
			if err := p.removePart(s, part.number); err != nil {
				return err
			}
		}
		return nil
	}
	if known && s.merges() {
		s.stayInPlace(old)
	}
	tag := p.preview.newID(s.Table.Options.NewID)()
	if !IsID(tag) {
		return errNewID
	}
	tag = tag[len(tag)-tagLength:]
	was := dir
	parts, oldParts := partsIn(s.Body.Columns()), partsIn(old)
	for number, columns := range parts {
		stored := dir.tag(uint8(number)) != ""
		switch {
		case number == 0 || len(columns) == 0:
			continue
		case number > s.Table.Mode.Parts:
			return &LimitError{Field: s.Key.RowKey(), Limit: fmt.Sprintf("parts of an entity (Schema.Parts); it has a property in part %d", number), Got: number, Max: s.Table.Mode.Parts}
		case !s.merges() && stored && known && SameColumns(columns, oldParts.of(number)):
			continue
		}
		dir = dir.with(uint8(number), tag)
		set := append(slices.Clip(columns), edm.Column{Name: reserved.Part, Value: edm.Value{Kind: edm.String, S: tag}})
		whole := set
		if s.merges() && stored {
			whole = nil
			if known {
				whole = overlaid(oldParts.of(number), set)
			}
		} else {
			set = nil
		}
		if err := p.putPart(s, uint8(number), stored, whole, set); err != nil {
			return err
		}
	}
	for _, part := range was {
		if !s.merges() && len(parts.of(int(part.number))) == 0 {
			dir = dir.with(part.number, "")
			if err := p.removePart(s, part.number); err != nil {
				return err
			}
		}
	}
	return s.setDirectory(parts.of(0), was, dir)
}

// setDirectory stores the directory in the head.
func (s *step) setDirectory(head []edm.Column, was, dir directory) (err error) {
	columns := Without(s.Body.Columns(), reserved.Parts)
	head = Without(head, reserved.Parts)
	if len(dir) > 0 && !(s.merges() && slices.Equal(was, dir)) {
		c := edm.Column{Name: reserved.Parts, Value: edm.Value{Kind: edm.String, S: dir.String()}}
		columns, head = append(slices.Clip(columns), c), append(slices.Clip(head), c)
	}
	s.Body = s.Body.WithColumns(columns)
	w := edm.NewWriter(s.Key.PartitionKey(), s.Key.RowKey(), len(head))
	for _, c := range head {
		w.PutColumn(c)
	}
	if s.StoresID {
		w.Reserve(UnassignedID)
	}
	body, err := w.Finish()
	s.head = &body
	return err
}

// stayInPlace lets a merge change properties where they are stored, also if their fields belong into another part by now.
func (s *step) stayInPlace(old []edm.Column) {
	columns := slices.Clone(s.Body.Columns())
	for i := range columns {
		for j := range old {
			if old[j].Name == columns[i].Name {
				columns[i].Part = old[j].Part
			}
		}
	}
	s.Body = s.Body.WithColumns(columns)
}

// columnsByPart are the columns of an entity by the number of their part.
type columnsByPart [][]edm.Column

func partsIn(columns []edm.Column) (parts columnsByPart) {
	parts = make(columnsByPart, 1)
	for _, c := range columns {
		for len(parts) <= int(c.Part) {
			parts = append(parts, nil)
		}
		parts[c.Part] = append(parts[c.Part], c)
	}
	return parts
}

func (p columnsByPart) of(number int) []edm.Column {
	if number >= len(p) {
		return nil
	}
	return p[number]
}

// overlaid returns columns with those of set in place of their own.
func overlaid(columns, set []edm.Column) []edm.Column {
	kept := slices.DeleteFunc(slices.Clone(columns), func(c edm.Column) bool { return Find(set, c.Name).Kind != edm.Absent })
	return append(kept, set...)
}

// hasParts reports whether a row is the head of a wide entity.
func hasParts(row edm.Stored) bool {
	if !row.MayHave(reserved.Parts) {
		return false
	}
	columns, err := row.Decoded()
	return err == nil && Find(columns, reserved.Parts).Kind != edm.Absent
}

// putPart plans the row of a part. stored reports that the directory lists it. merge, if it is not nil, is what changes of a stored
// part. whole is nil if the rest of the part is not known.
func (p *Plan) putPart(s *step, number uint8, stored bool, whole, merge []edm.Column) error {
	d, err := p.rowOfPart(s, number, stored)
	if err != nil {
		return err
	}
	if merge != nil && d.read != nil && d.read.row == nil && whole == nil {
		return &DecodeError{Field: reserved.Parts, Reason: fmt.Sprintf("lists part %d, which is missing", number)}
	}
	if whole == nil {
		whole = merge
	}
	p.make(d, &Row{Key: d.key, Columns: whole}, nil)
	d.merge = merge
	return nil
}

// removePart plans the deletion of the row of a part.
func (p *Plan) removePart(s *step, number uint8) error {
	d, err := p.rowOfPart(s, number, true)
	if err == nil {
		p.make(d, nil, nil)
	}
	return err
}

var errNoPart = errors.New("it is in the place of a part of a wide entity")

func (p *Plan) rowOfPart(s *step, number uint8, stored bool) (*derivedRow, error) {
	d, err := p.rowFor(partKey(s.Key, number))
	if err != nil {
		return nil, err
	}
	if d.read != nil && d.read.row != nil && !d.read.row.Has(reserved.Part) {
		return nil, p.refuse(d.key, &Condition{ErrForeignRow, errNoPart})
	}
	d.owned = stored
	return d, nil
}
