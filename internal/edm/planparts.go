package edm

import "slices"

// Parts returns the greatest number of a part in which a field is stored, 0 if all of them are in the head.
func (p *Plan) Parts() int { return int(p.parts) }

// OfWholeFields returns columns without those of values in chunks that may have chunks in other parts than these.
func (p *Plan) OfWholeFields(columns []Column, parts []uint8) []Column {
	unread := func(part uint8) bool { return !slices.Contains(parts, part) }
	return slices.DeleteFunc(slices.Clone(columns), func(c Column) bool {
		t, known := p.byName[c.Name]
		return known && p.fields[t.field].form == chunks && slices.ContainsFunc(p.PartsOf(p.fields[t.field].names...), unread)
	})
}

// ChunksIn returns the name of a field of which columns contain chunks, "" if there is none.
func (p *Plan) ChunksIn(columns []Column) string {
	for _, c := range columns {
		if t, known := p.byName[c.Name]; known && p.fields[t.field].form == chunks {
			return p.fields[t.field].name
		}
	}
	return ""
}

// PartsOf returns the parts in which properties are stored, in ascending order.
func (p *Plan) PartsOf(names ...string) []uint8 {
	var parts []uint8
	for _, name := range names {
		if t, known := p.byName[name]; known {
			parts = append(parts, p.fields[t.field].partOf(t.sub))
		} else {
			parts = append(parts, p.extraPart)
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}
