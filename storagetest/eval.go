package storagetest

import (
	"bytes"
	"cmp"
	"math"
	"time"
)

// holds tells whether a row meets the condition. A comparison with a property that the row lacks, or that is of another
// type, does not hold, whatever its operator.
func (e *expr) holds(row *entity) bool {
	switch e.op {
	case "":
		return true
	case "and":
		return e.a.holds(row) && e.b.holds(row)
	case "or":
		return e.a.holds(row) || e.b.holds(row)
	case "not":
		return !e.a.holds(row)
	}
	p, ok := row.get(e.name)
	if !ok {
		return false
	}
	n, ok := compare(p, e.with)
	switch {
	case !ok:
		return false
	case e.op == "eq":
		return n == 0
	case e.op == "ne":
		return n != 0
	case n == unordered:
		return false
	case e.op == "gt":
		return n > 0
	case e.op == "ge":
		return n >= 0
	case e.op == "lt":
		return n < 0
	}
	return n <= 0
}

// unordered is the result of a comparison with NaN.
const unordered = math.MaxInt

// compare compares a property with a literal. A literal in digits alone also stands for the wider types of numbers.
func compare(p, with Property) (n int, ok bool) {
	if i, is := with.Value.(int32); is && with.Type == Int32 {
		switch p.Type {
		case Int64:
			with = Property{Type: Int64, Value: int64(i)}
		case Double:
			with = Property{Type: Double, Value: float64(i)}
		}
	}
	if i, is := with.Value.(int64); is && with.Name == untyped && p.Type == Double {
		with = Property{Type: Double, Value: float64(i)}
	}
	if p.Type != with.Type {
		return 0, false
	}
	switch a := p.Value.(type) {
	case string:
		return compareText(a, with.Value.(string)), true
	case int32:
		return cmp.Compare(a, with.Value.(int32)), true
	case int64:
		return cmp.Compare(a, with.Value.(int64)), true
	case time.Time:
		return a.Compare(with.Value.(time.Time)), true
	case []byte:
		return bytes.Compare(a, with.Value.([]byte)), true
	case bool:
		b := with.Value.(bool)
		switch {
		case a == b:
			return 0, true
		case a:
			return 1, true
		}
		return -1, true
	case float64:
		b := with.Value.(float64)
		if math.IsNaN(a) || math.IsNaN(b) {
			return unordered, true
		}
		return cmp.Compare(a, b), true
	}
	return 0, false
}

// span is a range of keys, both ends included; without an end where open.
type span struct {
	from, to string
	open     bool
}

// whole is every key.
var whole = span{open: true}

func (s span) contains(k string) bool {
	return compareText(k, s.from) >= 0 && (s.open || compareText(k, s.to) <= 0)
}

// keys bounds the values of a key that rows can have for which the condition holds.
func (e *expr) keys(name string) span {
	switch {
	case e.op == "and":
		a, b := e.a.keys(name), e.b.keys(name)
		if compareText(b.from, a.from) > 0 {
			a.from = b.from
		}
		if !b.open && (a.open || compareText(b.to, a.to) < 0) {
			a.to, a.open = b.to, false
		}
		return a
	case e.name != name || e.with.Type != String:
		return whole
	}
	text := e.with.Value.(string)
	switch e.op {
	case "eq":
		return span{from: text, to: text}
	case "gt", "ge":
		return span{from: text, open: true}
	case "lt", "le":
		return span{to: text}
	}
	return whole
}
