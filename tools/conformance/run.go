package conformance

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Result is how a service answered a case.
type Result struct {
	Case

	// Meaning says whether all responses mean the same to a client as the recorded ones: the
	// status, the error code and the values.
	Meaning bool

	// Header and Body say whether those of all responses are as recorded, to the letter.
	Header, Body bool

	// Miss describes the first response that is not as recorded. It is nil if all are.
	Miss *Miss
}

// Miss is a response that is not as recorded.
type Miss struct {
	Request  string // the first line of the request
	Expected string // as the case describes it
	Actual   string
}

// Equal reports whether all responses are as recorded, to the letter.
func (r *Result) Equal() bool { return r.Meaning && r.Header && r.Body }

// lastName makes the names of tables, queues and containers fresh.
var lastName atomic.Int64

// Run sends the requests of a case.
func Run(c *Client, of Case) *Result {
	r := &Result{Case: of, Meaning: true, Header: true, Body: true}
	v := variables{
		"base":    c.endpoints[of.service],
		"account": c.account,
		"bom":     "\ufeff",
		"name":    "conf" + strconv.FormatInt(time.Now().UnixNano(), 36) + strconv.FormatInt(lastName.Add(1), 36),
	}
	for _, s := range of.steps {
		got, err := c.send(of.service, s, v)
		if err != nil {
			got = &response{body: err.Error()}
		}
		delete(v, "request")
		for _, l := range s.header {
			if strings.EqualFold(l.name, "x-ms-version") {
				v["version"] = l.value
			}
		}
		if !r.compare(c, s, got, v) {
			break
		}
	}
	return r
}

// compare compares a response with that of a step. It reports whether the case can go on.
func (r *Result) compare(c *Client, s step, got *response, v variables) bool {
	if s.setUp {
		if sameSetUp(s, got) && c.matchLines(v, s.response, got.header) && (s.want == "" || v.match(s.want, got.body)) {
			return true
		}
		r.Meaning, r.Header, r.Body = false, false, false
		r.miss(s, got, v)
		return false
	}
	header := c.matchHeader(v, s.response, got.header)
	meaning, body := v.sameMeaning(s, got), v.match(s.want, got.body)
	if !meaning || !header || !body {
		r.miss(s, got, v)
	}
	r.Meaning, r.Header, r.Body = r.Meaning && meaning, r.Header && header, r.Body && body
	return true
}

// sameSetUp reports whether a set-up has its status, or another status of success if the case lists
// the status alone.
func sameSetUp(s step, got *response) bool {
	return got.status == s.status || !s.partial && s.status/100 == 2 && got.status/100 == 2
}

// ofConnection are the headers that belong to the connection and to the program that serves it, not
// to the service.
var ofConnection = []string{"Connection", "Content-Length", "Keep-Alive", "Server", "Transfer-Encoding"}

// matchHeader reports whether a header is what the lines say, and has no other names.
func (c *Client) matchHeader(v variables, want []line, got http.Header) bool {
	for name := range got {
		listed := func(l line) bool { return l.value != "" && http.CanonicalHeaderKey(l.name) == name }
		if !slices.ContainsFunc(want, listed) && c.counts(name) {
			return false
		}
	}
	return c.matchLines(v, want, got)
}

// matchLines reports whether a header has the values of the lines.
func (c *Client) matchLines(v variables, want []line, got http.Header) bool {
	ok := true
	for _, l := range want {
		if name := http.CanonicalHeaderKey(l.name); l.value != "" && c.counts(name) {
			ok = len(got[name]) > 0 && v.match(l.value, strings.Join(got[name], ", ")) && ok
		}
	}
	return ok
}

// counts reports whether a header is compared.
func (c *Client) counts(name string) bool {
	return c.Connection || !slices.Contains(ofConnection, name)
}

// miss notes the first response that is not as recorded.
func (r *Result) miss(s step, got *response, v variables) {
	if r.Miss != nil {
		return
	}
	want := http.Header{}
	for _, l := range s.response {
		if l.value != "" {
			want.Set(l.name, v.fill(l.value))
		}
	}
	r.Miss = &Miss{Request: s.method + " " + v.fill(s.path), Expected: text(s.status, want, v.fill(s.want)), Actual: text(got.status, got.header, got.body)}
}

// text returns a response as text.
func text(status int, header http.Header, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", status)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(header[name], ", "))
	}
	if body != "" {
		b.WriteString("\n" + body + "\n")
	}
	return b.String()
}
