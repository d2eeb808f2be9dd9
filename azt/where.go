package azt

import (
	"encoding/hex"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// operators are the comparisons of a condition, longer ones first.
var operators = []struct{ typed, op string }{{">=", "ge"}, {"<=", "le"}, {"!=", "ne"}, {"<>", "ne"}, {"==", "eq"}, {"=", "eq"}, {">", "gt"}, {"<", "lt"}}

var isProperty = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// condition reads a condition such as: Age >= 30 or Name = "Ann". Its parts between or are
// comparisons of a property with a value.
func condition(text string) (c query.Cond, err error) {
	for _, part := range split(text, " or ") {
		one, err := comparison(part)
		if err != nil {
			return c, err
		}
		c.Conds = append(c.Conds, one)
	}
	if len(c.Conds) == 1 {
		return c.Conds[0], nil
	}
	c.Op = "or"
	return c, nil
}

// split splits a text at a separator outside of quotes.
func split(text, at string) (parts []string) {
	quoted, from := false, 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quoted:
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(text[i:], at):
			parts = append(parts, text[from:i])
			i += len(at) - 1
			from = i + 1
		}
	}
	return append(parts, text[from:])
}

func comparison(text string) (c query.Cond, err error) {
	at := strings.IndexAny(text, "<>=!")
	if at < 0 {
		return c, usage("--where %s is no condition; write a property, one of = != < <= > >=, and a value, such as 'Age >= 30'", shown(text))
	}
	name, rest := strings.TrimSpace(text[:at]), text[at:]
	for _, o := range operators {
		if value, is := strings.CutPrefix(rest, o.typed); is {
			c.Op, rest = o.op, strings.TrimSpace(value)
			break
		}
	}
	switch {
	case c.Op == "":
		return c, usage("--where %s has no comparison; it is one of = != < <= > >=", shown(text))
	case name == edm.PartitionKey || name == edm.RowKey:
		return c, usage("--where %s compares a key: --partition, --from and --to, --rows-from and --rows-to, or --prefix find rows by keys without a scan", shown(text))
	case !isProperty.MatchString(name):
		return c, usage("--where %s: %s is no name of a property", shown(text), shown(name))
	}
	v, err := value(rest)
	if err != nil {
		return c, err
	}
	c.Name, c.Value = name, operand(v)
	return c, nil
}

// operand returns a value as a condition has it, which is addressable.
func operand(v any) reflect.Value {
	at := reflect.New(reflect.TypeOf(v)).Elem()
	at.Set(reflect.ValueOf(v))
	return at
}

// valueForms are what a word before a colon says, and how such a value is read.
var valueForms = map[string]struct {
	called string
	read   func(string) (any, error)
}{
	"int64":  {"whole number", func(s string) (any, error) { return strconv.ParseInt(s, 10, 64) }},
	"double": {"number", func(s string) (any, error) { return strconv.ParseFloat(s, 64) }},
	"time":   {"time such as 2026-01-02T03:04:05Z", func(s string) (any, error) { return time.Parse(time.RFC3339, s) }},
	"guid":   {"GUID", func(s string) (any, error) { g, err := edm.GUIDValue(s); return g.G, err }},
	"binary": {"hexadecimal number", func(s string) (any, error) { return hex.DecodeString(strings.TrimPrefix(s, "0x")) }},
}

// value reads a value. A word before a colon says its type: text, int64, double, time, guid or
// binary. Without it, the form decides, and what has none is a text.
func value(s string) (any, error) {
	kind, rest, is := strings.Cut(s, ":")
	if form, named := valueForms[kind]; is && named {
		v, err := form.read(rest)
		if err != nil {
			return nil, usage("--where: %s is no %s", shown(s), form.called)
		}
		return v, nil
	}
	if is && kind == "text" {
		return typed(rest)
	}
	if strings.HasPrefix(s, `"`) {
		return typed(s)
	}
	if s == "" {
		return nil, usage(`--where has a comparison without a value; an empty text is ""`)
	}
	if v, is := ofForm(s); is {
		return v, nil
	}
	if strings.ContainsAny(s, "<>=!") || s[0] == '\'' || isJoined.MatchString(s) {
		return nil, usage(`--where: put the text %s in double quotes, as in 'Name = "O Brien"'; conditions are joined by or in small letters, and several --where must all hold`, s)
	}
	return s, nil
}

// Numbers as people write them: 007 and +49123 are texts, and so is Inf. isJoined finds what looks
// like a second condition.
var (
	isNumber = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$`)
	isJoined = regexp.MustCompile(`(?i)\s(and|or)(\s|$)`)
)

// mostWhole is up to where a Double has each whole number.
const mostWhole = 1 << 53

// ofForm reads a value whose form says its type. Numbers are compared with all numbers.
func ofForm(s string) (v any, is bool) {
	if s == "true" || s == "false" {
		return s == "true", true
	}
	if isNumber.MatchString(s) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err == nil && (n > mostWhole || n < -mostWhole) {
			return n, true
		}
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	if g, err := edm.GUIDValue(s); err == nil && g.Kind == edm.Guid {
		return g.G, true
	}
	return nil, false
}

// reading is what a command reads: a filter, and how the service finds its rows.
type reading struct {
	class  query.Class
	filter string
	where  bool
}

// reading returns what the flags ask for. With all set, the library's rows are read, too.
func (f *flags) reading(all bool) (r reading, err error) {
	in, err := f.partitions()
	if err != nil {
		return r, err
	}
	if f.prefix.text != "" {
		if f.rowsFrom.text != "" || f.rowsTo.text != "" {
			return r, usage("--prefix is a range of rows; --rows-from and --rows-to are another one")
		}
		f.rowsFrom.text, f.rowsTo.text = f.prefix.text, f.prefix.text+"\uFFFD" // the last character that a key may have
	}
	from, to := f.rowsFrom.text, f.rowsTo.text
	named := from != "" || to != ""
	if to != "" && keys.Compare(from, to) > 0 {
		return r, usage("--rows-from sorts after --rows-to: they are swapped")
	}
	switch {
	case f.partition.set && named:
		r.class = query.RangeQuery
	case f.partition.set:
		r.class = query.PartitionScan
	case in.IsSet():
		r.class = query.PartitionsScan
	default:
		r.class = query.TableScan
	}
	var of query.Filter
	if f.partition.set {
		of.Key(edm.PartitionKey, "eq", f.partition.text)
	}
	between(&of, edm.PartitionKey, f.from.text, f.to.text)
	between(&of, edm.RowKey, from, to)
	if !all && keys.Compare(from, reserved.FirstAbove) < 0 && (to == "" || keys.Compare(to, reserved.First) > 0) {
		of.Keys(edm.RowKey, query.BoundsOf(query.EveryKey)) // the library's rows are left out
	}
	for _, text := range f.where {
		c, err := condition(text)
		if err == nil {
			err = of.Where(nil, c)
		}
		if err != nil {
			return r, usage("%v", err)
		}
		r.where = true
	}
	if of.Check() != nil {
		return r, usage("--where has too many comparisons: the service takes 15, those of the keys included, and a number takes 2 or more")
	}
	if f.also != nil {
		r.where = true
		err = of.Where(nil, *f.also)
	}
	if err != nil {
		return r, err
	}
	r.filter = of.String()
	return r, nil
}

// between adds a range of keys, the library's included.
func between(of *query.Filter, name, from, to string) {
	if from != "" {
		of.Key(name, "ge", from)
	}
	if to != "" {
		of.Key(name, "lt", to)
	}
}

func isReserved(rk string) bool { return strings.HasPrefix(rk, "~") }

// allowed returns an error for a scan that the command line does not allow.
func (r reading) allowed(f *flags) error {
	if r.class == query.TableScan && !f.scan && !f.explain {
		return usage("this reads the whole table, 1 request for each 1,000 rows; name a partition, or allow it with --scan")
	}
	return nil
}

// explain says what is read.
func (r reading) explain(c *call, name string) {
	finds := map[query.Class]string{
		query.RangeQuery:     "a range of rows of one partition",
		query.PartitionScan:  "one partition",
		query.PartitionsScan: "a range of partitions",
		query.TableScan:      "the whole table (a scan)",
	}[r.class]
	costs := "1 for each 1,000 rows of it, and 1 for each partition server that holds a part"
	if r.class == query.RangeQuery || r.class == query.PartitionScan {
		costs = "1 for each 1,000 rows of it"
	}
	if r.where {
		costs += "; the service also reads the rows that the condition leaves out"
	}
	c.out.columns("table", "reads", "requests", "filter")
	if c.out.json {
		c.out.add(name, finds, costs, r.filter)
		return
	}
	c.out.columns("", "")
	for _, line := range [][2]string{{"table", name}, {"reads", finds}, {"requests", costs}, {"filter", r.filter}} {
		c.out.add(line[0], line[1])
	}
}
