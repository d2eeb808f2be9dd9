package edm

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// textForms says what the texts of each kind are, for the option text.
var textForms = map[Kind]string{
	Int32:    "a whole number in decimal digits, without a sign + and without leading zeros",
	Int64:    "a whole number in decimal digits, without a sign + and without leading zeros",
	Bool:     "true or false, as true, True or TRUE",
	DateTime: "a time as in RFC 3339, such as 2026-01-02T03:04:05Z",
	Binary:   "base64 with its padding",
}

// asText returns the scalar of the option text: values of s are stored as text. It reads both the
// text and the type itself, and whole numbers of all types.
func asText(s scalar) (scalar, error) {
	form, ok := textForms[s.kind]
	if !ok {
		return s, fmt.Errorf("the option text is for times, whole numbers, booleans and []byte, and not for an %v", s.kind)
	}
	return scalar{
		kind: String, plain: &s, wants: form,
		get: func(v reflect.Value, x *Value) error {
			if err := s.get(v, x); err != nil || x.Kind == Absent {
				return err
			}
			text, err := textOf(x)
			*x = Value{Kind: String, S: text}
			return err
		},
		set: func(v reflect.Value, x *Value) bool {
			if x.Kind != String {
				return s.setWhole(v, x)
			}
			y, ok := parseText(s.kind, x.S)
			return ok && s.set(v, &y)
		},
	}, nil
}

// asDouble returns the scalar of the option double: whole numbers are stored as Double. It reads
// whole numbers of all types.
func asDouble(s scalar) (scalar, error) {
	if s.kind != Int32 && s.kind != Int64 {
		return s, fmt.Errorf("the option double is for whole numbers, and not for an %v", s.kind)
	}
	return scalar{
		kind: Double, declared: true, wants: "a whole number up to 2^53",
		get: func(v reflect.Value, x *Value) error {
			if err := s.get(v, x); err != nil || x.Kind == Absent {
				return err
			}
			if x.I < -maxWhole || x.I > maxWhole {
				return fmt.Errorf("the number %d is beyond 2^53, up to which a Double has each whole number, and the option double of the field's tag requires a Double", x.I)
			}
			*x = Value{Kind: Double, F: float64(x.I)}
			return nil
		},
		set: s.setWhole,
	}, nil
}

// setWhole is set, also for a whole number that is stored as a Double.
func (s scalar) setWhole(v reflect.Value, x *Value) bool {
	if x.Kind != Double || s.kind != Int32 && s.kind != Int64 {
		return s.set(v, x)
	}
	n, ok := x.Whole()
	return ok && s.set(v, &Value{Kind: Int64, I: n})
}

// textOf returns the text of a value of a kind that has textForms.
func textOf(x *Value) (string, error) {
	switch x.Kind {
	case Bool:
		return strconv.FormatBool(x.I != 0), nil
	case DateTime:
		if year := x.T.Year(); year < 0 || year > 9999 {
			return "", fmt.Errorf("the time is in the year %d; RFC 3339 has the years 0 to 9999", year)
		}
		return string(appendTime(nil, x.T)), nil
	case Binary:
		return base64.StdEncoding.EncodeToString(x.B), nil
	}
	return strconv.FormatInt(x.I, 10), nil
}

// parseText is the inverse of textOf. It reads each form of a time and of a boolean, and one form
// of numbers and bytes: the value of a condition then has few texts.
func parseText(k Kind, text string) (x Value, ok bool) {
	x.Kind = k
	switch k {
	case Bool:
		x.I = 1
		switch text {
		case "true", "True", "TRUE":
			return x, true
		}
		x.I = 0
		return x, text == "false" || text == "False" || text == "FALSE"
	case DateTime:
		t, err := time.Parse(time.RFC3339, text) // which also reads hours of one digit, and a comma before a fraction
		x.T = t.UTC()
		return x, err == nil && text[10] == 'T' && text[13] == ':' && text[19] != ','
	case Binary:
		b, err := strictBase64.DecodeString(text) // which leaves out line breaks
		x.B = b
		return x, err == nil && base64.StdEncoding.EncodedLen(len(b)) == len(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	x.Kind, x.I = Int64, n
	return x, err == nil && strconv.FormatInt(n, 10) == text
}

// addText compares a property that is stored as text, in the forms that parseText reads, and also
// matches properties of the value's own type. What a text cannot be compared for is refused.
func (c *comparison) addText(name, op string, x Value) error {
	refuse := func(reason string) error {
		return &errs.ValueError{Property: true, Field: name, Reason: "is stored as text (option text), " + reason}
	}
	switch {
	case x.Kind == DateTime:
		return refuse("and one time has many texts, by its offset and precision: a filter would leave rows out. Compare the times of the rows that are read, or ask for IsSet")
	case op != "eq" && op != "ne":
		return refuse("whose order is not that of the values: only Eq and Ne can compare it, and IsSet. Compare the values of the rows that are read")
	case x.Kind == Bool:
		if op == "ne" { // it has one of two values
			x.I = 1 - x.I
		}
		for _, text := range [][]string{{"false", "False", "FALSE"}, {"true", "True", "TRUE"}}[x.I] {
			c.add(name, "eq", Quote(text))
		}
		c.add(name, "eq", strconv.FormatBool(x.I != 0))
		return nil
	}
	text, err := textOf(&x)
	if err != nil {
		return err
	}
	switch {
	case x.Kind == Binary || op == "eq":
		c.addOnly(name, op, Quote(text))
	default: // the empty text is no value
		c.b.WriteString("(")
		c.add(name, "gt", "''")
		c.b.WriteString(" and " + name + " lt " + Quote(text) + ")")
		c.count++
		c.add(name, "gt", Quote(text))
	}
	switch {
	case x.Kind == Binary:
		literal, err := Literal(name, x)
		if err != nil {
			return err
		}
		c.addOnly(name, op, literal)
	case x.I >= -maxWhole && x.I <= maxWhole:
		c.addOnly(name, op, strconv.FormatInt(x.I, 10)+".0")
		if op == "eq" {
			c.addWhole(name, op, float64(x.I))
		} else {
			c.addWhole(name, "lt", float64(x.I))
			c.addWhole(name, "gt", float64(x.I))
		}
	case op == "eq":
		c.addLong(name, op, text)
	default: // every Double and every Int32 is another number
		c.add(name, "le", "0.0")
		c.add(name, "gt", "0.0")
		if x.I > 0 {
			c.add(name, "le", most32)
		} else {
			c.add(name, "ge", least32)
		}
		c.addLong(name, "lt", text)
		c.addLong(name, "gt", text)
	}
	return nil
}

// addOnly matches properties of the literal's type only.
func (c *comparison) addOnly(name, op, literal string) {
	if op == "ne" {
		c.addUnequal(name, literal)
	} else {
		c.add(name, op, literal)
	}
}

// addSet matches the rows that have a value in a property of a kind; text says that it may also be
// stored as text.
func (c *comparison) addSet(name string, k Kind, text bool) {
	switch {
	case text && k == Binary:
		c.add(name, "ge", "''")
	case text && k == DateTime: // the zero time is no value, in whatever form, and nor is the empty text
		c.add(name, "gt", "'0001-01-01T00:00:00Z'")
	case text:
		c.add(name, "gt", "''") // the empty text is no value
	}
	switch k {
	case String:
		c.add(name, "ge", "''")
	case Bool:
		c.add(name, "eq", "true")
		c.add(name, "eq", "false")
	case DateTime:
		c.add(name, "ge", "datetime'1601-01-01T00:00:00Z'")
	case Guid:
		c.add(name, "ge", "guid'00000000-0000-0000-0000-000000000000'")
	case Binary:
		c.add(name, "ge", "X''")
	default:
		c.add(name, "ge", "0") // a literal of digits is compared with numbers of all types
		c.add(name, "lt", "0")
	}
}
