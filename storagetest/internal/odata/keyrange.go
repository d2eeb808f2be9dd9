package odata

// KeyRange is a range of keys with both ends included.
type KeyRange struct {
	From, To string
	NoEnd    bool // the range has no upper end
}

// anyKey contains every key.
var anyKey = KeyRange{NoEnd: true}

// Contains reports whether the range contains a key.
func (r KeyRange) Contains(key string) bool {
	return CompareText(key, r.From) >= 0 && (r.NoEnd || CompareText(key, r.To) <= 0)
}

// Single reports whether the range contains exactly one key, From.
func (r KeyRange) Single() bool { return !r.NoEnd && r.From == r.To }

// KeyRange returns a range that contains the key property called name of every row that the filter matches.
func (f *Filter) KeyRange(name string) KeyRange {
	switch {
	case f.operator == "and":
		a, b := f.left.KeyRange(name), f.right.KeyRange(name)
		if CompareText(b.From, a.From) > 0 {
			a.From = b.From
		}
		if !b.NoEnd && (a.NoEnd || CompareText(b.To, a.To) < 0) {
			a.To, a.NoEnd = b.To, false
		}
		return a
	case f.property != name || f.literal.Type != String:
		return anyKey
	}
	text := f.literal.Value.(string)
	switch f.operator {
	case "eq":
		return KeyRange{From: text, To: text}
	case "gt", "ge":
		return KeyRange{From: text, NoEnd: true}
	case "lt", "le":
		return KeyRange{To: text}
	}
	return anyKey
}
