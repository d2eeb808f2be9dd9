package edm

import (
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// comparison is a condition on one property: one comparison with a literal, or several if it must
// also match numbers of other EDM types.
type comparison struct {
	b     strings.Builder
	count int
}

// Compare returns the condition that compares a property with a value, and the number n of its
// comparisons. op is eq, ne, lt, le, gt or ge.
//
// The service compares a property with a literal of the same type only. A filter must match every
// row whose property the field can read, so the condition has a literal of each numeric type that
// the field reads. The literal 5 matches Int32, Int64 and Double properties, 5L matches Int64 only,
// and 5.0 matches Double only.
func Compare(name, op string, v Value) (text string, n int, err error) {
	literal, err := Literal(name, v)
	if err != nil {
		return "", 0, err
	}
	var c comparison
	switch v.Kind {
	case Int64:
		c.addInteger(name, op, v.I)
	case Double:
		c.addDouble(name, op, literal, v.F)
	default:
		c.add(name, op, literal)
	}
	return c.b.String(), c.count, nil
}

// add appends a comparison with or.
func (c *comparison) add(name, op, literal string) {
	if c.count > 0 {
		c.b.WriteString(" or ")
	}
	c.b.WriteString(name + " " + op + " " + literal)
	c.count++
}

const (
	least32 = "-2147483648"
	most32  = "2147483647"
)

// addInteger matches Int32 and Int64 properties.
func (c *comparison) addInteger(name, op string, n int64) {
	digits := strconv.FormatInt(n, 10)
	less := op == "lt" || op == "le" || op == "ne"
	more := op == "gt" || op == "ge" || op == "ne"
	switch {
	case n > math.MaxInt32 && less: // every Int32 is less
		c.add(name, "le", most32)
	case n < math.MinInt32 && more:
		c.add(name, "ge", least32)
	case n == int64(int32(n)) && op != "ne":
		c.add(name, op, digits)
	case n == int64(int32(n)):
		c.addUnequal(name, digits)
	}
	if op == "ne" {
		c.addUnequal(name, digits+"L")
	} else {
		c.add(name, op, digits+"L")
	}
}

// addUnequal is ne for properties of the literal's type only, since the result of ne for another
// type is undocumented.
func (c *comparison) addUnequal(name, literal string) {
	c.add(name, "lt", literal)
	c.add(name, "gt", literal)
}

// addDouble matches Double properties, and Int32 and Int64 properties, which a floating-point field
// also reads: other clients store whole numbers in them.
func (c *comparison) addDouble(name, op, literal string, f float64) {
	c.add(name, op, literal)
	whole := f == math.Trunc(f)
	switch op {
	case "eq":
		if whole {
			c.addWhole(name, op, f)
		}
	case "ne":
		if whole {
			c.addWhole(name, "lt", f)
			c.addWhole(name, "gt", f)
		} else {
			c.addWhole(name, "le", math.Floor(f))
			c.addWhole(name, "ge", math.Ceil(f))
		}
	case "lt", "le":
		if !whole {
			op = "le"
		}
		c.addWhole(name, op, math.Floor(f))
	case "gt", "ge":
		if !whole {
			op = "ge"
		}
		c.addWhole(name, op, math.Ceil(f))
	}
}

// addWhole matches Int32 and Int64 properties by a whole number f.
func (c *comparison) addWhole(name, op string, f float64) {
	less, more := op == "lt" || op == "le", op == "gt" || op == "ge"
	if f >= math.MinInt32 && f <= math.MaxInt32 {
		c.add(name, op, strconv.FormatInt(int64(f), 10)) // also for an Int64
		return
	}
	all := false // every Int64 matches
	switch {
	case f > 0 && less:
		c.add(name, "le", most32)
		all = f >= math.MaxInt64
	case f < 0 && more:
		c.add(name, "ge", least32)
		all = f < math.MinInt64
	}
	long := ""
	switch {
	case all && less:
		op, long = "le", strconv.FormatInt(math.MaxInt64, 10)
	case all:
		op, long = "ge", strconv.FormatInt(math.MinInt64, 10)
	case f >= math.MaxInt64 || f < math.MinInt64: // as a float64, MaxInt64 is one more
		return
	default:
		long = strconv.FormatInt(int64(f), 10)
	}
	c.addLong(name, op, long)
}

// addLong matches Int64 properties in a column that may have other types. Emulators fail if they
// compare a Double property with a literal such as 5L, so the condition excludes Double properties
// first.
func (c *comparison) addLong(name, op, digits string) {
	c.b.WriteString(" or (not (" + name + " le 0.0 or " + name + " gt 0.0)) and (" + name + " " + op + " " + digits + "L)")
	c.count += 3
}

// Literal returns a value as a literal of a filter. A Double has all its digits and a decimal
// point, since not every service understands an exponent.
func Literal(name string, v Value) (string, error) {
	if err := CheckValue(name, &v); err != nil {
		return "", err
	}
	switch v.Kind {
	case String:
		return Quote(v.S), nil
	case Int32:
		return strconv.FormatInt(v.I, 10), nil
	case Int64:
		return strconv.FormatInt(v.I, 10) + "L", nil
	case Double:
		if math.IsNaN(v.F) || math.IsInf(v.F, 0) {
			return "", &errs.ValueError{Property: true, Field: name, Reason: fmt.Sprintf("a filter cannot compare with %v", v.F)}
		}
		s := strconv.FormatFloat(v.F, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s, nil
	case Bool:
		return strconv.FormatBool(v.I != 0), nil
	case DateTime:
		return "datetime'" + string(appendTime(nil, v.T)) + "'", nil
	case Guid:
		return "guid'" + string(appendGUID(nil, v.G)) + "'", nil
	case Binary:
		return "X'" + hex.EncodeToString(v.B) + "'", nil
	}
	return "", &errs.ValueError{Property: true, Field: name, Reason: "a filter cannot compare with an absent value (nil, zero time)"}
}

// Quote returns a text as a literal of a filter. Quotes in the text are doubled, so that they
// cannot end the literal.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Operand is a property that a filter compares.
type Operand struct {
	Name string
	of   field // single
}

// Operand returns the property of the field at path.
func (p *Codec) Operand(path []int, element int) (o Operand, err error) {
	f, err := p.field(path)
	if err == nil && element > 0 {
		f, err = f.element(element)
	}
	if err != nil {
		return o, err
	}
	if f.form == ofService {
		return Operand{Timestamp, field{name: Timestamp, scalar: sdkTimeScalar}}, nil
	}
	if f.form != single {
		return o, &errs.ValueError{Property: true, Field: f.name, Reason: "is not stored in a single property, so that a filter cannot compare it"}
	}
	return Operand{f.name, *f}, nil
}

// NamedOperand returns the property with a name, for values of a type. It may also be the
// Timestamp.
func NamedOperand(name string, t reflect.Type) (o Operand, err error) {
	if !IsSystem(name) && (name != Timestamp || t != timeType) {
		if err := CheckName(name); err != nil {
			return o, err
		}
	}
	s, ok := scalarOf(t)
	if !ok {
		return o, &errs.ValueError{Property: true, Field: name, Reason: fmt.Sprintf("the type %v is not stored in a single property, so that a filter cannot compare it", t)}
	}
	return Operand{name, field{name: name, scalar: s}}, nil
}

// Value returns the value of the operand's type as a filter compares it.
func (o Operand) Value(v reflect.Value) (x Value, err error) {
	s := &o.of.scalar
	if s.plain != nil {
		s = s.plain
	}
	if err = s.get(v, &x); err != nil {
		err = o.of.refusal(o.Name, err)
	}
	if o.of.narrow && x.Kind == Int64 && x.I == int64(int32(x.I)) {
		x.Kind = Int32
	}
	return x.owned(), err
}

// The operators of conditions that a property has a value, or has none.
const (
	OpSet   = "set"
	OpUnset = "unset"
)

// Compare returns the condition that compares the property with a value of the operand's type, and
// the number n of its comparisons; see [Compare]. The operator may also be OpSet or OpUnset. An
// absent value is equal to none.
func (o Operand) Compare(op string, v reflect.Value) (text string, n int, err error) {
	isText := o.of.scalar.plain != nil
	kind := o.of.storedKind()
	if isText {
		kind = o.of.scalar.plain.kind
	}
	var x Value
	if op != OpSet && op != OpUnset {
		if x, err = o.Value(v); err != nil {
			return "", 0, err
		}
		switch {
		case x.Kind == Absent && op == "eq":
			op = OpUnset
		case x.Kind == Absent && op == "ne":
			op = OpSet
		case x.Kind == Absent || !isText:
			return Compare(o.Name, op, x)
		}
	}
	var c comparison
	if op == OpSet || op == OpUnset {
		c.addSet(o.Name, kind, isText)
	} else if err := c.addText(o.Name, op, x); err != nil {
		return "", 0, err
	}
	text = c.b.String()
	if op == OpUnset {
		text = "not (" + text + ")"
	}
	return text, c.count, nil
}
