package odata

import (
	"bytes"
	"cmp"
	"math"
	"time"
)

// Row is a row that a filter can match.
type Row interface {
	// Property returns the property with a name. ok is false if the row has no such property.
	Property(name string) (p Property, ok bool)
}

// Matches reports whether the filter matches a row. A comparison is false if the row lacks the property or the property has another
// type, whatever the operator is.
func (f *Filter) Matches(row Row) bool {
	switch f.operator {
	case "":
		return true
	case "and":
		return f.left.Matches(row) && f.right.Matches(row)
	case "or":
		return f.left.Matches(row) || f.right.Matches(row)
	case "not":
		return !f.left.Matches(row)
	}
	p, ok := row.Property(f.property)
	if !ok {
		return false
	}
	n, ok := compare(p, f.literal)
	switch {
	case !ok:
		return false
	case f.operator == "eq":
		return n == 0
	case f.operator == "ne":
		return n != 0
	case n == unordered:
		return false
	case f.operator == "gt":
		return n > 0
	case f.operator == "ge":
		return n >= 0
	case f.operator == "lt":
		return n < 0
	}
	return n <= 0
}

// unordered is the result of a comparison with NaN.
const unordered = math.MaxInt

// compare compares a property with a literal. A literal of digits alone adopts a wider numeric type. ok is false if the types
// differ.
func compare(p, literal Property) (n int, ok bool) {
	if i, is := literal.Value.(int32); is && literal.Type == Int32 {
		switch p.Type {
		case Int64:
			literal = Property{Type: Int64, Value: int64(i)}
		case Double:
			literal = Property{Type: Double, Value: float64(i)}
		}
	}
	if i, is := literal.Value.(int64); is && literal.Name == untyped && p.Type == Double {
		literal = Property{Type: Double, Value: float64(i)}
	}
	if p.Type != literal.Type {
		return 0, false
	}
	switch a := p.Value.(type) {
	case string:
		return CompareText(a, literal.Value.(string)), true
	case int32:
		return cmp.Compare(a, literal.Value.(int32)), true
	case int64:
		return cmp.Compare(a, literal.Value.(int64)), true
	case time.Time:
		return a.Compare(literal.Value.(time.Time)), true
	case []byte:
		return bytes.Compare(a, literal.Value.([]byte)), true
	case bool:
		b := literal.Value.(bool)
		switch {
		case a == b:
			return 0, true
		case a:
			return 1, true
		}
		return -1, true
	case float64:
		b := literal.Value.(float64)
		if math.IsNaN(a) || math.IsNaN(b) {
			return unordered, true
		}
		return cmp.Compare(a, b), true
	}
	return 0, false
}
