package conformance

import (
	"net/url"
	"regexp"
	"strings"
)

// kinds are the kinds of text that a response contains by chance.
var kinds = map[string]string{
	"time":     `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{0,6}[1-9])?Z`,
	"esc":      `\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(?:\.\d{0,6}[1-9])?Z`,
	"seven":    `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z`,
	"date":     `[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`,
	"guid":     `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
	"base64":   `[A-Za-z0-9+/]+={0,2}`,
	"token":    `1!\d+![A-Za-z0-9-]+`,
	"any":      `.*?`,
	"hex":      `0x[0-9A-F]+`,
	"boundary": `[0-9a-z]+_[0-9a-f-]{36}`,
}

// looseKinds are kinds whose form does not matter to clients.
var looseKinds = map[string]string{
	"time": `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`,
	"esc":  `\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(?:\.\d+)?Z`,
}

// place is a place in a text that is filled.
var place = regexp.MustCompile(`\{(?:([a-z][a-z0-9]*):)?([a-z][a-z0-9]*)\}`)

// variables are the texts that places with names stand for.
type variables map[string]string

// fill fills the places whose names have a value. {name.esc} of a time is its form in an ETag,
// {name.query} is the form in a query.
func (v variables) fill(s string) string {
	for name, value := range v {
		s = strings.ReplaceAll(s, "{"+name+"}", value)
		s = strings.ReplaceAll(s, "{"+name+".esc}", strings.ReplaceAll(value, ":", "%3A"))
		s = strings.ReplaceAll(s, "{"+name+".query}", url.QueryEscape(value))
	}
	return s
}

// match reports whether a text is what a pattern says, and sets the variables that occur for the
// first time.
func (v variables) match(pattern, got string) bool {
	return v.matchKinds(pattern, got, nil)
}

// bind sets the variables that occur for the first time, also if the digits of times differ from
// the pattern, as those of one in ten ETags of the emulator do: a later request of a recording
// sends them.
func (v variables) bind(pattern, got string) { v.matchKinds(pattern, got, looseKinds) }

func (v variables) matchKinds(pattern, got string, replaced map[string]string) bool {
	expr, names := expression(v.fill(pattern), replaced)
	found := expr.FindStringSubmatch(got)
	if found == nil {
		return false
	}
	for i, name := range names {
		value := strings.ReplaceAll(found[i+1], "%3A", ":")
		if name == "" {
			continue
		}
		if v[name] == "" {
			v[name] = value
		}
		if v[name] != value {
			return false
		}
	}
	return true
}

// matchLoosely is match for which the digits of times, and the names of places, do not matter.
func (v variables) matchLoosely(pattern, got string) bool {
	expr, _ := expression(v.fill(pattern), looseKinds)
	return expr.MatchString(got)
}

// expression returns the regular expression of a pattern, and the names of its groups. Some kinds
// may be replaced.
func expression(pattern string, replaced map[string]string) (expr *regexp.Regexp, names []string) {
	var (
		b    strings.Builder
		from int
	)
	b.WriteString(`(?s)^`)
	for _, m := range place.FindAllStringSubmatchIndex(pattern, -1) {
		kind := pattern[m[4]:m[5]]
		text, ok := kinds[kind]
		if other := replaced[kind]; other != "" {
			text = other
		}
		if !ok {
			continue
		}
		name := ""
		if m[2] >= 0 {
			name = pattern[m[2]:m[3]]
		}
		names = append(names, name)
		b.WriteString(regexp.QuoteMeta(pattern[from:m[0]]) + "(" + text + ")")
		from = m[1]
	}
	b.WriteString(regexp.QuoteMeta(pattern[from:]) + `$`)
	return regexp.MustCompile(b.String()), names
}
