package odata

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
)

// The limits of a filter.
const (
	MaxComparisons = 15
	maxDepth       = 100 // of parentheses and negations
)

// Filter is a filter, or a part of a filter. The zero value matches every row.
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
	e := p.or(0)
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

func (p *filterParser) or(depth int) *Filter {
	if depth > maxDepth {
		return p.fail()
	}
	e := p.and(depth)
	for p.failure == nil && p.take("or") {
		e = &Filter{operator: "or", left: e, right: p.and(depth)}
	}
	return e
}

func (p *filterParser) and(depth int) *Filter {
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
		e := p.or(depth + 1)
		if p.failure == nil && !p.take(")") {
			return p.fail()
		}
		return e
	}
	return p.comparison()
}

// mirrored maps an operator to the operator with its sides exchanged.
var mirrored = map[string]string{"eq": "eq", "ne": "ne", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}

// comparison parses a property, an operator and a literal, in this order or reversed. A property alone is compared with true. true and
// false stand for all rows and for none.
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

// untyped is the name of a large literal of digits alone. Such a literal adopts the type of the property.
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
