package conformance

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Replayed is how a service answered a recorded request.
type Replayed struct {
	Recording string
	Number    int // of the exchange in the recording, from 1
	Verdict   Verdict
	Meaning   bool     // the response means the same to a client
	Reasons   []string // of a verdict other than Same and Different
	Miss      *Miss    // nil for Same
}

// Verdict says how a response compares with the recorded one.
type Verdict int

// The verdicts.
const (
	Same       Verdict = iota
	Accepted           // it differs only in what rules accept
	NotOffered         // the service does not offer the operation, or the response depends on one that it does not offer
	Different
)

// Replay sends the requests of a recording to a service in their order. at is called with the time
// of each exchange before it.
func Replay(c *Client, service string, r Recording, at func(time.Time)) (all []Replayed) {
	v := variables{"account": c.account, "bom": "\ufeff"}
	touched := map[string]string{} // why the state of a resource is not the recorded one
	for i, x := range r.Exchanges {
		if at != nil {
			at(x.Time.Add(time.Duration(i) * time.Millisecond)) // no two writes at the same time
		}
		base := c.endpoints[service]
		if x.secondary {
			base = strings.Replace(base, c.account, c.account+"-secondary", 1)
		}
		v["base"] = base
		s := x.step
		s.path, s.body = v.request(s.path), v.request(s.body)
		s.header = slices.Clone(s.header)
		for k, l := range s.header {
			s.header[k].value = v.request(l.value)
			if date, err := http.ParseTime(l.value); err == nil && at == nil {
				s.header[k].value = date.Add(time.Since(x.Time)).UTC().Format(http.TimeFormat)
			}
		}
		client := *c
		client.endpoints = map[string]string{service: base}
		got, err := client.send(service, s, variables{"base": base})
		if err != nil {
			got = &response{body: err.Error()}
		}
		out := Replayed{Recording: r.Name, Number: i + 1}
		v.compareRecorded(&out, x, got)
		resource, _, _ := strings.Cut(x.path, "?")
		out.judge(x, resource, touched)
		all = append(all, out)
	}
	return all
}

// judge gives a response that differs its reason, if the operation, or one before it on the same
// resource, is not offered.
func (out *Replayed) judge(x Exchange, resource string, touched map[string]string) {
	reason := notOffered(x)
	if of := touched[x.source()]; of != "" {
		touched[resource] = of // a copy
	}
	if reason != "" && x.method != http.MethodGet && x.method != http.MethodHead {
		touched[resource] = reason
	}
	switch {
	case out.Verdict != Different:
		return
	case reason != "":
		out.Verdict, out.Reasons = NotOffered, []string{reason}
		return
	}
	for name, reason := range touched {
		if resource == name || strings.HasPrefix(resource, name+"/") || strings.HasPrefix(name, resource+"/") {
			out.Verdict, out.Reasons = NotOffered, []string{"depends on: " + reason}
			return
		}
	}
}

// The texts of a recording that differ from those of another run.
var (
	recordedHost  = regexp.MustCompile(`https://[a-z0-9-]+\.(?:table|blob)\.core\.windows\.net`)
	recordedETag  = regexp.MustCompile(`0x8D[0-9A-F]{13}`)
	recordedToken = regexp.MustCompile(kinds["token"])
	recordedGUID  = regexp.MustCompile(kinds["guid"])
	recordedTime  = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d(?::|%3A)\d\d(?::|%3A)\d\d\.\d{1,7}Z`)
	notInName     = regexp.MustCompile(`[^0-9a-z]`)
)

// nameOf returns the name of the variable for a recorded text.
func nameOf(kind, text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "%3A", ""), ":", "")
	return kind + notInName.ReplaceAllString(strings.ToLower(text), "")
}

// request returns a text of a request with what the service returned in place of what the live
// service returned.
func (v variables) request(s string) string {
	s = recordedHost.ReplaceAllLiteralString(s, v["base"])
	s = recordedETag.ReplaceAllStringFunc(s, func(tag string) string {
		if own := v[nameOf("e", tag)]; own != "" {
			return own
		}
		return tag
	})
	s = recordedToken.ReplaceAllStringFunc(s, func(token string) string {
		if own := v[nameOf("k", token)]; own != "" {
			return own
		}
		return token
	})
	return recordedTime.ReplaceAllStringFunc(s, func(at string) string {
		own := v[nameOf("t", at)]
		if own == "" {
			return at
		}
		if strings.Contains(at, "%3A") {
			own = strings.ReplaceAll(own, ":", "%3A")
		}
		return own
	})
}

// pattern returns a recorded text as a pattern. Text of the request stays as it is.
func (x Exchange) pattern(s string) string {
	sent := x.path + x.body
	for _, l := range x.header {
		sent += l.value
	}
	place := func(kind, of string) func(string) string {
		return func(text string) string {
			if strings.Contains(sent, text) && kind == "g" {
				return text
			}
			if kind == "g" {
				return "{" + of + "}"
			}
			if at, err := time.Parse(time.RFC3339, strings.ReplaceAll(text, "%3A", ":")); kind == "t" && (err != nil || at.Sub(x.Time).Abs() > 24*time.Hour) {
				return text // the value of a property
			}
			if kind == "t" && strings.HasPrefix(s, "--") {
				return "{esc}" // whether the times of a transaction are equal is chance
			}
			if strings.Contains(text, "%3A") {
				return "{" + nameOf(kind, text) + ":esc}"
			}
			return "{" + nameOf(kind, text) + ":" + of + "}"
		}
	}
	s = recordedHost.ReplaceAllLiteralString(s, "{base}")
	s = failureTime.ReplaceAllLiteralString(s, "Time:{seven}")
	s = httpTime.ReplaceAllLiteralString(s, "{date}")
	s = recordedETag.ReplaceAllStringFunc(s, place("e", "hex"))
	s = recordedToken.ReplaceAllStringFunc(s, place("k", "token"))
	s = recordedGUID.ReplaceAllStringFunc(s, place("g", "guid"))
	return recordedTime.ReplaceAllStringFunc(s, place("t", "time"))
}

var (
	failureTime = regexp.MustCompile(`Time:` + kinds["seven"])
	httpTime    = regexp.MustCompile(kinds["date"])
)

// compareRecorded compares a response with the recorded one.
func (v variables) compareRecorded(out *Replayed, x Exchange, got *response) {
	s := step{method: x.method, path: x.path, status: x.status, want: x.pattern(canonical(x.want))}
	for _, l := range x.response {
		want := strings.ReplaceAll(x.pattern(l.value), "; ", ";")
		switch strings.ToLower(l.name) {
		case "x-ms-request-id", "x-ms-client-request-id":
			want = "{guid}"
		case "x-ms-version":
			want = l.value
		}
		s.response = append(s.response, line{l.name, want})
	}
	own := &response{got.status, got.header.Clone(), canonical(got.body)}
	for name, values := range own.header {
		own.header.Set(name, strings.ReplaceAll(strings.Join(values, ", "), "; ", ";"))
	}
	var reasons []string
	ok := own.status == s.status
	for _, name := range v.differing(s.response, own.header) {
		reason := acceptedHeaders[name]
		ok = ok && reason != ""
		reasons = append(reasons, reason)
	}
	if !v.match(s.want, own.body) {
		want, have := s.want, own.body
		for _, a := range acceptedTexts {
			if w, h := a.text.ReplaceAllString(want, a.by), a.text.ReplaceAllString(have, a.by); w != want || h != have {
				want, have = w, h
				reasons = append(reasons, a.reason)
			}
		}
		if earlier := stateBefore(x); earlier != "" {
			reasons = append(reasons, earlier)
		} else {
			ok = ok && v.match(want, have)
		}
	}
	out.Meaning = own.status == s.status && (own.status < 400 || code(s.want) == code(own.body))
	switch {
	case !ok:
		out.Verdict = Different
	case len(reasons) > 0:
		out.Verdict = Accepted
	default:
		return
	}
	slices.Sort(reasons)
	out.Reasons = slices.Compact(reasons)
	r := Result{}
	r.miss(s, own, v)
	out.Miss = r.Miss
}

// differing returns the names of the headers in which a response differs from the recorded one.
func (v variables) differing(want []line, got http.Header) (names []string) {
	recorded := map[string]bool{}
	for _, l := range want {
		name := http.CanonicalHeaderKey(l.name)
		recorded[name] = true
		if !slices.Contains(ofConnection, name) && !v.match(l.value, got.Get(name)) {
			if name == "Etag" {
				v.bind(l.value, got.Get(name))
			}
			names = append(names, name)
		}
	}
	for name := range got {
		if !recorded[name] && !slices.Contains(ofConnection, name) {
			if got.Get(name) == "" {
				name = "empty " + name
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// canonical returns JSON without the escapes that the recorder added, in the order of its members.
// Other text stays as it is.
func canonical(s string) string {
	if !strings.HasPrefix(s, "{") {
		return s
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	var comma bool
	var inObject []bool
	var key bool
	for {
		t, err := d.Token()
		if err != nil {
			return out.String()
		}
		delim, isDelim := t.(json.Delim)
		closes := isDelim && (delim == '}' || delim == ']')
		if comma && !closes {
			out.WriteByte(',')
		}
		switch {
		case closes:
			out.WriteByte(byte(delim))
			inObject = inObject[:len(inObject)-1]
			comma = true
		case isDelim:
			out.WriteByte(byte(delim))
			inObject = append(inObject, delim == '{')
			comma = false
		default:
			_ = e.Encode(t) // a string, a number, a boolean or null
			out.Truncate(out.Len() - 1)
			comma = true
		}
		if n := len(inObject); n > 0 && inObject[n-1] && !isDelim && !key {
			out.WriteByte(':')
			key, comma = true, false
		} else {
			key = false
		}
	}
}
