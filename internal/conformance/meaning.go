package conformance

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sameMeaning reports whether a response would tell a client the same as the recorded one: the status, the error codes, and the
// values of an entity with their types. The order of properties, escapes, the text of errors and of odata.metadata do not count.
func (v variables) sameMeaning(s step, got *response) bool {
	want := strings.TrimPrefix(v.fill(s.want), "\ufeff")
	body := strings.TrimPrefix(got.body, "\ufeff")
	switch {
	case got.status != s.status:
		return false
	case got.status >= 400:
		return code(want) == code(body)
	case strings.HasPrefix(want, "{"):
		return v.sameJSON(want, body)
	case strings.HasPrefix(want, "--"):
		return slices.Equal(outcomes(want), outcomes(body))
	case strings.HasPrefix(want, "<"):
		return slices.Equal(element.FindAllString(want, -1), element.FindAllString(body, -1))
	}
	return true
}

// errorCode matches an error code in JSON or XML.
var errorCode = regexp.MustCompile(`(?:"code":"|<m:code>|<Code>)([A-Za-z]+)`)

// code returns the error code of a body, or "".
func code(body string) string {
	m := errorCode.FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	return m[1]
}

// outcome matches the status of an operation of a transaction, or an error code.
var outcome = regexp.MustCompile(`HTTP/1\.1 (\d+)|"code":"([A-Za-z]+)"`)

// outcomes returns the statuses and the error codes of the operations of a transaction.
func outcomes(body string) (all []string) {
	for _, m := range outcome.FindAllStringSubmatch(body, -1) {
		all = append(all, m[1]+m[2])
	}
	return all
}

// element matches the beginning of an element of XML.
var element = regexp.MustCompile(`<[A-Z][A-Za-z]+>`)

func (v variables) sameJSON(want, got string) bool {
	w, errW := decode(want)
	g, errG := decode(got)
	return errW == nil && errG == nil && v.sameValue(w, g)
}

func decode(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// sameValue compares a value of a response with that of a pattern.
func (v variables) sameValue(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for _, names := range []map[string]any{w, g} {
			for name := range names {
				if name != "odata.metadata" && !v.sameMember(name, w, g) {
					return false
				}
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(w, g, v.sameValue)
	case string:
		g, ok := got.(string)
		return ok && (v.matchLoosely(w, g) || sameTime(w, g))
	case json.Number:
		g, ok := got.(json.Number)
		return ok && sameNumber(string(w), string(g))
	}
	return want == got
}

func (v variables) sameMember(name string, w, g map[string]any) bool {
	a, inW := w[name]
	b, inG := g[name]
	return inW && inG && v.sameValue(a, b)
}

// sameTime compares two times, which may have more digits than they need.
func sameTime(a, b string) bool {
	x, errA := time.Parse(time.RFC3339, a)
	y, errB := time.Parse(time.RFC3339, b)
	return errA == nil && errB == nil && x.Equal(y)
}

// sameNumber compares two numbers. A whole Double has another type than an Int32 of the same value.
func sameNumber(a, b string) bool {
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	return x == y && strings.ContainsAny(a, ".eE") == strings.ContainsAny(b, ".eE")
}
