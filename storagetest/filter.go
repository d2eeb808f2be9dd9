package storagetest

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// maxComparisons is how many comparisons a filter may hold.
const maxComparisons = 15

// expr is a filter, or a part of one.
type expr struct {
	op   string // and, or, not; eq, ne, gt, ge, lt, le; "" for everything
	a, b *expr
	name string   // of the property that a comparison is about
	with Property // what it is compared with
}

// parseFilter reads the text of $filter.
func parseFilter(text string) (*expr, *failure) {
	p := filterParser{text: text, rest: text}
	if strings.TrimSpace(text) == "" {
		return &expr{}, nil
	}
	e := p.or(0)
	if p.space(); p.failed == nil && p.rest != "" {
		p.fail()
	}
	switch {
	case p.failed != nil:
		return nil, p.failed
	case p.comparisons > maxComparisons:
		return nil, errInput
	}
	return e, nil
}

type filterParser struct {
	text, rest  string
	comparisons int
	failed      *failure
}

// fail keeps the place at which the text cannot be read.
func (p *filterParser) fail() *expr {
	if p.failed == nil {
		f := *errQuery
		f.text = fmt.Sprintf("Syntax error at position %d in '%s'.", len(p.text)-len(p.rest), p.text)
		p.failed = &f
	}
	return &expr{}
}

func (p *filterParser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }

// word takes a word of letters, digits, underscores, points and slashes.
func (p *filterParser) word() string {
	p.space()
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

// take takes a keyword or a parenthesis, if it comes next.
func (p *filterParser) take(s string) bool {
	was := p.rest
	p.space()
	if s == "(" || s == ")" {
		if r, ok := strings.CutPrefix(p.rest, s); ok {
			p.rest = r
			return true
		}
	} else if p.word() == s {
		return true
	}
	p.rest = was
	return false
}

const maxDepth = 100

func (p *filterParser) or(depth int) *expr {
	if depth > maxDepth {
		return p.fail()
	}
	e := p.and(depth)
	for p.failed == nil && p.take("or") {
		e = &expr{op: "or", a: e, b: p.and(depth)}
	}
	return e
}

func (p *filterParser) and(depth int) *expr {
	e := p.unary(depth)
	for p.failed == nil && p.take("and") {
		e = &expr{op: "and", a: e, b: p.unary(depth)}
	}
	return e
}

func (p *filterParser) unary(depth int) *expr {
	if depth > maxDepth {
		return p.fail()
	}
	switch {
	case p.take("not"):
		return &expr{op: "not", a: p.unary(depth + 1)}
	case p.take("("):
		e := p.or(depth + 1)
		if p.failed == nil && !p.take(")") {
			return p.fail()
		}
		return e
	}
	return p.comparison()
}

// mirrored is what an operator becomes when its sides change places.
var mirrored = map[string]string{"eq": "eq", "ne": "ne", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}

// comparison reads a property, an operator and a literal, or the other way round. A property alone is compared with true.
func (p *filterParser) comparison() *expr {
	p.comparisons++
	left, isName := p.operand()
	if p.failed != nil {
		return &expr{}
	}
	was := p.rest
	op := p.word()
	if mirrored[op] == "" {
		switch {
		case op == "add", op == "sub", op == "mul", op == "div", op == "mod":
			p.failed = errUnsupported
			return &expr{}
		case op != "" && op != "and" && op != "or", !isName:
			return p.fail()
		}
		p.rest = was
		return &expr{op: "eq", name: left.Name, with: Property{Type: Boolean, Value: true}}
	}
	right, isName2 := p.operand()
	switch {
	case p.failed != nil:
		return &expr{}
	case isName && isName2:
		p.failed = errUnsupported // two properties
	case !isName && !isName2:
		p.failed = errUnsupported
	case isName2:
		return &expr{op: mirrored[op], name: right.Name, with: left}
	}
	return &expr{op: op, name: left.Name, with: right}
}

// operand reads a literal, or the name of a property.
func (p *filterParser) operand() (v Property, isName bool) {
	p.space()
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
		p.failed = errUnsupported
	case w == "NaN" || w == "INF" || w == "Infinity":
		f, _ := parseDouble(w)
		return Property{Type: Double, Value: f}, false
	case strings.HasPrefix(p.rest, "("):
		p.failed = errUnsupported // a function
	case strings.ContainsAny(w, "./") || !identifier.MatchString(w):
		p.rest = start
		p.fail()
	}
	v.Name = w
	return v, true
}

// literal reads a text in quotes as a value of a type.
func (p *filterParser) literal(t Type) (v Property) {
	start := p.rest
	s, rest, f := quoted(p.rest)
	if f != nil {
		p.fail()
		return v
	}
	v.Type, p.rest = t, rest
	ok, inRange := true, true
	if t == Binary {
		b, err := hex.DecodeString(s)
		v.Value, ok = b, err == nil
	} else {
		v.Value, ok, inRange = parseText(t, s)
	}
	if !ok || !inRange {
		p.rest = start
		p.fail()
	}
	return v
}

// untyped is the name of a literal of digits alone, which takes the type of what it is compared with.
const untyped = "untyped"

// number reads 5, 5L, 5.0, 5e3, 5.0d.
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
