package conformance

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sameMeaning reports whether a response means the same to a client as the recorded response: the
// status, the error codes, and the values of an entity with their types. The order of properties,
// escapes, the text of errors and of odata.metadata do not count.
func (v variables) sameMeaning(s step, got *response) bool {
	want := strings.TrimPrefix(v.fill(s.want), "\ufeff")
	body := strings.TrimPrefix(got.body, "\ufeff")
	switch {
	case got.status != s.status || !sameNames(s.response, got.header):
		return false
	case got.status >= 400:
		return code(want) == code(body)
	case strings.HasPrefix(want, "{"):
		return v.sameJSON(want, body)
	case strings.HasPrefix(want, "--"):
		return v.sameOperations(want, body)
	case strings.HasPrefix(want, "<"):
		return v.sameElements(want, body)
	}
	return v.matchLoosely(want, body)
}

// sameNames reports whether a header has the recorded names that matter to a client: ETags, tokens,
// metadata.
func sameNames(want []line, got http.Header) bool {
	tells := func(name string) bool {
		return name == "Etag" || strings.HasPrefix(name, "X-Ms-Continuation-") || strings.HasPrefix(name, "X-Ms-Meta-")
	}
	recorded := map[string]bool{}
	for _, l := range want {
		if name := http.CanonicalHeaderKey(l.name); l.value != "" && tells(name) {
			recorded[name] = true
		}
	}
	for name := range got {
		if tells(name) && !recorded[name] {
			return false
		}
		delete(recorded, name)
	}
	return len(recorded) == 0
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

// outcome matches the status of an operation of a transaction, or its body.
var outcome = regexp.MustCompile(`(?m)HTTP/1\.1 (\d+)|^(\{.*\})\r?$`)

// sameOperations compares the statuses and the bodies of the operations of a transaction.
func (v variables) sameOperations(want, got string) bool {
	return slices.EqualFunc(outcome.FindAllStringSubmatch(want, -1), outcome.FindAllStringSubmatch(got, -1), func(w, g []string) bool {
		switch {
		case w[1] != g[1] || (w[2] == "") != (g[2] == ""):
			return false
		case w[2] == "":
			return true
		case code(w[2]) != "":
			return code(w[2]) == code(g[2])
		}
		return v.sameJSON(w[2], g[2])
	})
}

// element matches the beginning of an element of XML, and its text.
var element = regexp.MustCompile(`<([A-Z][A-Za-z]+)>([^<]*)`)

// sameElements compares the names and the texts of the elements of XML.
func (v variables) sameElements(want, got string) bool {
	return slices.EqualFunc(element.FindAllStringSubmatch(want, -1), element.FindAllStringSubmatch(got, -1), func(w, g []string) bool {
		return w[1] == g[1] && v.matchLoosely(w[2], g[2])
	})
}

func (v variables) sameJSON(want, got string) bool {
	w, errW := decode(want)
	g, errG := decode(got)
	return errW == nil && errG == nil && v.sameValue(w, g)
}

func decode(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = errors.New("more follows")
	}
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
