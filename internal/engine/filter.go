package engine

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Cond is a condition on properties: a comparison, or conditions that are joined.
type Cond struct {
	Op      string // a comparison, "and", "or" or "not"; "" for the zero condition, which every row meets
	Path    []int  // of the field that is compared
	Element int    // of a list, counted from 1; 0 for the field
	Name    string // of the property, if there is no field
	Value   reflect.Value
	Parts   []Cond
	Err     error
}

// filter writes an OData filter and counts its comparisons.
type filter struct {
	b strings.Builder
	n int
}

func (f *filter) and() {
	if f.b.Len() > 0 {
		f.b.WriteString(" and ")
	}
}

func (f *filter) key(name, op, value string) {
	f.and()
	f.compare(name, op, edm.Quote(value))
}

func (f *filter) compare(name, op, literal string) {
	f.b.WriteString(name + " " + op + " " + literal)
	f.n++
}

// keys adds the keys of a range, with as many comparisons as that takes.
func (f *filter) keys(name string, r keys.Range) {
	from, to, closed := r.Bounds()
	if r.IsPoint() {
		f.key(name, "eq", from)
		return
	}
	if from != "" {
		f.key(name, "ge", from)
	}
	f.below(name, r, to, closed)
}

// behind adds the keys of a range behind the last one.
func (f *filter) behind(name string, r keys.Range, last *string) {
	from, to, closed := r.Bounds()
	switch {
	case last != nil && keys.Compare(*last, from) >= 0:
		f.key(name, "gt", *last)
	case from != "":
		f.key(name, "ge", from)
	}
	f.below(name, r, to, closed)
}

// below adds what a range leaves out above its first key: its end, and the library's rows.
func (f *filter) below(name string, r keys.Range, to string, closed bool) {
	if r.SpansReserved() {
		f.and()
		f.b.WriteString("(")
		f.compare(name, "lt", edm.Quote(reserved.First))
		f.b.WriteString(" or ")
		f.compare(name, "ge", edm.Quote(reserved.FirstAbove))
		f.b.WriteString(")")
	}
	switch {
	case to == "":
	case closed:
		f.key(name, "le", to)
	default:
		f.key(name, "lt", to)
	}
}

// cond adds a condition on properties.
func (f *filter) cond(p *edm.Plan, c Cond) error {
	if c.Op == "" {
		return nil
	}
	var inner filter
	if err := inner.tree(p, c); err != nil {
		return err
	}
	f.and()
	f.b.WriteString("(" + inner.b.String() + ")")
	f.n += inner.n
	return nil
}

func (f *filter) tree(p *edm.Plan, c Cond) error {
	switch c.Op {
	case "":
		return &ValueError{Field: "Query.Where", Reason: "holds a zero condition inside And, Or or Not; leave it out"}
	case "and", "or", "not":
		if len(c.Parts) == 0 {
			return &ValueError{Field: "Query.Where", Reason: "holds an And or Or without conditions; leave it out, or give it one"}
		}
		for i, part := range c.Parts {
			switch {
			case c.Op == "not":
				f.b.WriteString("not ")
			case i > 0:
				f.b.WriteString(" " + c.Op + " ")
			}
			f.b.WriteString("(")
			if err := f.tree(p, part); err != nil {
				return err
			}
			f.b.WriteString(")")
		}
		return nil
	}
	if c.Err != nil {
		return c.Err
	}
	var (
		name  = c.Name
		value edm.Value
		err   error
	)
	if name == "" {
		name, value, err = p.Operand(c.Path, c.Element, c.Value)
	} else {
		value, err = edm.NamedOperand(name, c.Value)
	}
	if err != nil {
		return err
	}
	if p != nil && c.Name == "" && p.PartsOf(name)[0] > 0 {
		return &ValueError{Property: true, Field: name, Reason: fmt.Sprintf("is stored in part %d of the entity; a condition can name only properties of the head, which is part 0", p.PartsOf(name)[0])}
	}
	text, n, err := edm.Compare(name, c.Op, value)
	f.b.WriteString(text)
	f.n += n
	return err
}
