package edm

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// comparison is a condition on one property: one comparison with a literal, or several where numbers of other EDM types are to
// be found, too.
type comparison struct {
	b     strings.Builder
	count int
}

// Compare writes the condition that a property stands to a value as op says: eq, ne, lt, le, gt or ge. n is how many
// comparisons it takes.
//
// The service compares a property with a literal of its own type. What a field reads must also be found, so a number is
// compared with a literal of each type that the field reads. A literal of digits alone is an Int32 and also stands for an
// Int64 or a Double property; 5L is an Int64 and nothing else, 5.0 a Double and nothing else.
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

// or adds a comparison.
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

// integer finds Int32 and Int64 properties.
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

// unequal is ne for properties of the literal's type alone: what the service makes of ne for another type is not known.
func (c *comparison) addUnequal(name, literal string) {
	c.add(name, "lt", literal)
	c.add(name, "gt", literal)
}

// double finds Double properties, and the Int32 and Int64 ones that a floating-point field reads: other clients store whole
// numbers so.
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

// whole finds Int32 and Int64 properties by a whole number f.
func (c *comparison) addWhole(name, op string, f float64) {
	less, more := op == "lt" || op == "le", op == "gt" || op == "ge"
	if f >= math.MinInt32 && f <= math.MaxInt32 {
		c.add(name, op, strconv.FormatInt(int64(f), 10)) // also for an Int64
		return
	}
	all := false // every number is meant
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
	// Emulators fail at a literal such as 5L beside a property of another type, so it is kept from Double properties.
	c.b.WriteString(" or (not (" + name + " le 0.0 or " + name + " gt 0.0)) and (" + name + " " + op + " " + long + "L)")
	c.count += 3
}

// Literal writes a value as it stands in a filter. Doubles are written out in full with a decimal point, for an exponent is
// not understood everywhere.
func Literal(name string, v Value) (string, error) {
	if err := CheckValue(name, v); err != nil {
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
			return "", &ValueError{Field: name, Reason: "a filter cannot compare with NaN or an infinity"}
		}
		s := strconv.FormatFloat(v.F, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s, nil
	case Bool:
		return strconv.FormatBool(v.I != 0), nil
	case DateTime:
		return "datetime'" + v.T.Format(dateTime) + "'", nil
	case Guid:
		return "guid'" + string(appendGUID(nil, v.G)) + "'", nil
	case Binary:
		const digits = "0123456789abcdef"
		b := []byte("X'")
		for _, c := range v.B {
			b = append(b, digits[c>>4], digits[c&15])
		}
		return string(append(b, '\'')), nil
	}
	return "", &ValueError{Field: name, Reason: "a filter cannot compare with an absent value (nil, zero time)"}
}

// Quote writes a text as it stands in a filter: whatever it holds, it stays a text.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Comparable returns the property and the value with which a filter compares the field at path.
func (p *Plan) Operand(path []int, v reflect.Value) (name string, x Value, err error) {
	f, err := p.field(path)
	if err != nil {
		return "", Value{}, err
	}
	if f.form != single {
		return "", Value{}, &ValueError{Field: f.name, Reason: "is not a single property, so a filter cannot compare it"}
	}
	if x, err = f.scalar.get(v); err != nil {
		err = f.refusal(f.name, err)
	}
	if f.narrow && x.Kind == Int64 && x.I == int64(int32(x.I)) {
		x.Kind = Int32
	}
	return f.name, x, err
}

// Named returns the value with which a filter compares a property that is known by its name alone.
func NamedOperand(name string, v reflect.Value) (x Value, err error) {
	if !IsSystem(name) {
		if err := CheckName(name); err != nil {
			return x, err
		}
	}
	s, ok := scalarOf(v.Type())
	if !ok {
		return x, &ValueError{Field: name, Reason: fmt.Sprintf("a %v is not a single property, so a filter cannot compare it", v.Type())}
	}
	if x, err = s.get(v); err != nil {
		err = (&field{scalar: s}).refusal(name, err)
	}
	return x, err
}
