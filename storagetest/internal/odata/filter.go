package odata

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The limits of a filter.
const (
	MaxComparisons = 15
	maxDepth       = 100 // of parentheses and negations
)

// Filter is a filter, or a subexpression of a filter. The zero value matches every row.
type Filter struct {
	operator    string // and, or, not; eq, ne, gt, ge, lt, le; "" to match every row
	left, right *Filter
	property    string   // the property that a comparison compares
	literal     Property // the literal that a comparison compares the property with
	comparisons int      // of the whole filter
}

// ParseFilter parses the text of $filter.
func ParseFilter(text string) (*Filter, *Failure) {
	p := filterParser{text: text, rest: text}
	if strings.TrimSpace(text) == "" {
		return &Filter{}, nil
	}
	e := p.parseOr(0)
	if p.skipSpace(); p.failure == nil && p.rest != "" {
		p.fail()
	}
	if p.failure != nil {
		return nil, p.failure
	}
	e.comparisons = p.comparisons
	return e, nil
}

// Comparisons returns the number of comparisons.
func (f *Filter) Comparisons() int { return f.comparisons }

type filterParser struct {
	text, rest  string
	comparisons int
	failure     *Failure
}

// fail records the first position at which the text cannot be parsed.
func (p *filterParser) fail() *Filter {
	if p.failure == nil {
		p.failure = QuerySyntax.WithText("Syntax error at position %d in '%s'.", len(p.text)-len(p.rest), p.text)
	}
	return &Filter{}
}

func (p *filterParser) skipSpace() { p.rest = strings.TrimLeft(p.rest, " \t") }

// word consumes a word of letters, digits, underscores, points and slashes.
func (p *filterParser) word() string {
	p.skipSpace()
	n := strings.IndexFunc(p.rest, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./", r) && !unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nl)
	})
	if n < 0 {
		n = len(p.rest)
	}
	w := p.rest[:n]
	p.rest = p.rest[n:]
	return w
}

// take consumes s, a keyword or a parenthesis, if s comes next.
func (p *filterParser) take(s string) bool {
	before := p.rest
	p.skipSpace()
	if s == "(" || s == ")" {
		if r, ok := strings.CutPrefix(p.rest, s); ok {
			p.rest = r
			return true
		}
	} else if p.word() == s {
		return true
	}
	p.rest = before
	return false
}

func (p *filterParser) parseOr(depth int) *Filter {
	if depth > maxDepth {
		return p.fail()
	}
	e := p.parseAnd(depth)
	for p.failure == nil && p.take("or") {
		e = &Filter{operator: "or", left: e, right: p.parseAnd(depth)}
	}
	return e
}

func (p *filterParser) parseAnd(depth int) *Filter {
	e := p.unary(depth)
	for p.failure == nil && p.take("and") {
		e = &Filter{operator: "and", left: e, right: p.unary(depth)}
	}
	return e
}

func (p *filterParser) unary(depth int) *Filter {
	if depth > maxDepth {
		return p.fail()
	}
	switch {
	case p.take("not"):
		return &Filter{operator: "not", left: p.unary(depth + 1)}
	case p.take("("):
		e := p.parseOr(depth + 1)
		if p.failure == nil && !p.take(")") {
			return p.fail()
		}
		return e
	}
	return p.comparison()
}

// mirrored maps an operator to the operator with its sides exchanged.
var mirrored = map[string]string{"eq": "eq", "ne": "ne", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}

// comparison parses a property, an operator and a literal, in this order or reversed. A property
// alone is compared with true. true and false stand for all rows and for none.
func (p *filterParser) comparison() *Filter {
	p.comparisons++
	left, leftIsName := p.operand()
	if p.failure != nil {
		return &Filter{}
	}
	before := p.rest
	op := p.word()
	if mirrored[op] == "" {
		constant, isConstant := left.Value.(bool)
		switch {
		case op == "add", op == "sub", op == "mul", op == "div", op == "mod":
			p.failure = NotImplemented
			return &Filter{}
		case op != "" && op != "and" && op != "or", !leftIsName && !isConstant:
			return p.fail()
		}
		switch p.rest = before; {
		case constant:
			return &Filter{}
		case isConstant:
			return &Filter{operator: "not", left: &Filter{}}
		}
		return &Filter{operator: "eq", property: left.Name, literal: Property{Type: Boolean, Value: true}}
	}
	right, rightIsName := p.operand()
	switch {
	case p.failure != nil:
		return &Filter{}
	case leftIsName && rightIsName:
		p.failure = NotImplemented // two properties
	case !leftIsName && !rightIsName:
		p.failure = NotImplemented
	case rightIsName:
		return &Filter{operator: mirrored[op], property: right.Name, literal: left}
	}
	return &Filter{operator: op, property: left.Name, literal: right}
}

// operand parses a literal or the name of a property.
func (p *filterParser) operand() (v Property, isName bool) {
	p.skipSpace()
	start := p.rest
	if strings.HasPrefix(start, "'") {
		return p.literal(String), false
	}
	if start != "" && (start[0] == '-' || start[0] == '+' || start[0] >= '0' && start[0] <= '9') {
		return p.number(), false
	}
	w := p.word()
	switch {
	case w == "":
		p.fail()
	case strings.HasPrefix(p.rest, "'"):
		t := map[string]Type{"datetime": DateTime, "guid": GUID, "X": Binary, "binary": Binary}[w]
		if t == "" {
			p.rest = start
			p.fail()
			return v, false
		}
		return p.literal(t), false
	case w == "true" || w == "false":
		return Property{Type: Boolean, Value: w == "true"}, false
	case w == "null":
		p.failure = NotImplemented
	case w == "NaN" || w == "INF" || w == "Infinity":
		f, _ := parseDouble(w)
		return Property{Type: Double, Value: f}, false
	case strings.HasPrefix(p.rest, "("):
		p.failure = NotImplemented // a function
	case strings.ContainsAny(w, "./") || !IsIdentifier(w):
		p.rest = start
		p.fail()
	}
	v.Name = w
	return v, true
}

// literal parses a quoted text as a value of type t.
func (p *filterParser) literal(t Type) (v Property) {
	start := p.rest
	s, rest, closed := CutQuoted(p.rest)
	if !closed {
		p.fail()
		return v
	}
	v.Type, p.rest = t, rest
	ok, inRange := true, true
	if t == Binary {
		b, err := hex.DecodeString(s)
		v.Value, ok = b, err == nil
	} else {
		v.Value, ok, inRange = parseValue(t, s)
	}
	if !ok || !inRange {
		p.rest = start
		p.fail()
	}
	return v
}

// untyped is the name of a large literal of digits alone. Such a literal adopts the type of the
// property.
const untyped = "untyped"

// number parses 5, 5L, 5.0, 5e3, 5.0d.
func (p *filterParser) number() (v Property) {
	start := p.rest
	n := strings.IndexFunc(start, func(r rune) bool { return !strings.ContainsRune("0123456789+-.eELlDdFfMm", r) })
	if n < 0 {
		n = len(start)
	}
	text := start[:n]
	p.rest = start[n:]
	if digits := strings.TrimRight(text, "Ll"); len(digits) == len(text)-1 {
		i, err := strconv.ParseInt(digits, 10, 64)
		if err == nil {
			return Property{Type: Int64, Value: i}
		}
	} else if i, err := strconv.ParseInt(text, 10, 64); err == nil && i == int64(int32(i)) {
		return Property{Type: Int32, Value: int32(i)}
	} else if err == nil {
		return Property{Name: untyped, Type: Int64, Value: i}
	} else if f, ok := parseDouble(strings.TrimRight(text, "DdFf")); ok {
		return Property{Type: Double, Value: f}
	}
	p.rest = start
	p.fail()
	return v
}

// Row is a row that a filter can match.
type Row interface {
	// Property returns the property with a name. ok is false if the row has no such property.
	Property(name string) (p Property, ok bool)
}

// Matches reports whether the filter matches a row. A comparison is false if the row lacks the
// property or the property has another type, whatever the operator is.
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

// compare compares a property with a literal. A literal of digits alone adopts a wider numeric
// type. ok is false if the types differ.
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

// KeyRange returns a range that contains the key property called name of every row that the filter
// matches.
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
