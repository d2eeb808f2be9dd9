package conformance

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed cases/*.txt
var files embed.FS

// topics are the names of the files, in the order of the scorecard.
var topics = []string{"tables", "entities", "transactions", "queries", "signatures", "queues", "blobs"}

// Case is a recorded exchange, with the exchanges that set it up.
type Case struct {
	Topic, Name string
	Facts       string // the numbers of the observations that the case restates
	Recorded    string // where the exchange was recorded, or from what its request was rebuilt

	service string
	steps   []step
}

// step is an exchange.
type step struct {
	method, path string
	header       []line
	body         string
	endings      string // of the lines of the body that is parsed

	status   int
	setUp    bool   // only the status counts, and what the case lists
	partial  bool   // a set-up that lists more than a status
	response []line // the header
	want     string // the body
}

// line is a line of a header. An empty value takes the header away.
type line struct{ name, value string }

// Cases returns all cases.
func Cases() ([]Case, error) {
	var all []Case
	for _, topic := range topics {
		text, err := files.ReadFile(path.Join("cases", topic+".txt"))
		if err != nil {
			return nil, err
		}
		p := parser{topic: topic}
		for i, s := range strings.Split(string(text), "\n") {
			if err := p.line(s); err != nil {
				return nil, fmt.Errorf("%s.txt:%d: %w", topic, i+1, err)
			}
		}
		p.endCase()
		all = append(all, p.cases...)
	}
	return all, nil
}

// parser parses the file of a topic.
type parser struct {
	topic, service     string
	standard, requests []line // of all responses, and of all requests
	inStandard         bool
	current            *Case
	inBody             bool
	last               byte // '>' or '<'
	cases              []Case
}

func (p *parser) line(s string) error {
	switch {
	case s == "" || strings.HasPrefix(s, "#"):
		return nil
	case strings.HasPrefix(s, ">*"):
		return p.repeated(s[2:])
	case s[0] == '>' || s[0] == '<':
		return p.message(s[0], strings.TrimPrefix(s[1:], " "))
	}
	name, value, _ := strings.Cut(s, ": ")
	if name != "case" && name != "service" && name != "standard" && p.current == nil {
		return fmt.Errorf("%q is in no case", s)
	}
	switch name {
	case "service":
		p.service = value
	case "standard":
		p.inStandard = true
	case "case":
		p.endCase()
		p.inStandard, p.last = false, 0
		p.current = &Case{Topic: p.topic, Name: value, service: p.service}
	case "facts":
		p.current.Facts = value
	case "recorded":
		p.current.Recorded = value
	case "given":
		s, ok := givens[value]
		if !ok {
			return fmt.Errorf("unknown set-up %q", value)
		}
		p.current.steps = append(p.current.steps, s)
	default:
		return fmt.Errorf("%q is no line of a case", s)
	}
	return nil
}

// givens are the frequent steps of a set-up.
var givens = map[string]step{
	"table": {method: "POST", path: "/Tables", body: `{"TableName":"{name}"}`, status: 204, setUp: true,
		header: []line{{"Accept", "application/json;odata=minimalmetadata"}, {"Content-Type", "application/json"}, {"Prefer", "return-no-content"}, {"x-ms-version", "2019-02-02"}}},
	"queue":     {method: "PUT", path: "/{name}", status: 201, setUp: true, header: []line{{"x-ms-version", "2018-03-28"}}},
	"container": {method: "PUT", path: "/{name}?restype=container", status: 201, setUp: true, header: []line{{"x-ms-version", "2018-11-09"}}},
}

func (p *parser) endCase() {
	if p.current != nil {
		p.cases = append(p.cases, *p.current)
	}
	p.current = nil
}

// message parses a line of a request or of a response.
func (p *parser) message(side byte, s string) error {
	if p.inStandard {
		name, value, ok := strings.Cut(s, ": ")
		if !ok {
			return fmt.Errorf("%q is no header", s)
		}
		if side == '>' {
			p.requests = append(p.requests, line{name, value})
		} else {
			p.standard = append(p.standard, line{name, value})
		}
		return nil
	}
	if p.current == nil {
		return fmt.Errorf("%q is in no case", s)
	}
	first := side != p.last
	if p.last = side; first {
		p.inBody = false
		return p.begin(side, s)
	}
	st := &p.current.steps[len(p.current.steps)-1]
	if side == '<' && st.setUp && !st.partial {
		st.setUp, st.response = false, slices.Clone(p.standard)
	}
	switch {
	case s == "(LF)" && side == '>':
		st.endings = "\n"
	case !p.inBody && s == "":
		p.inBody = true
	case p.inBody && side == '>':
		st.body = st.add(st.body, s)
	case p.inBody:
		st.want = st.add(st.want, s)
	default:
		name, value, _ := strings.Cut(s, ":")
		l := line{name, strings.TrimPrefix(value, " ")}
		if side == '>' {
			st.header = set(st.header, l)
		} else {
			st.response = set(st.response, l)
		}
		if name == "Content-Type" && strings.HasPrefix(l.value, "multipart/") {
			st.endings = "\r\n"
		}
	}
	return nil
}

// begin parses the first line of a request or of a response.
func (p *parser) begin(side byte, s string) error {
	if side == '>' {
		method, path, _ := strings.Cut(s, " ")
		st := step{method: method, path: path, endings: "\n", header: slices.Clone(p.requests)}
		p.current.steps = append(p.current.steps, st)
		return nil
	}
	if len(p.current.steps) == 0 {
		return fmt.Errorf("no request for the response %q", s)
	}
	st := &p.current.steps[len(p.current.steps)-1]
	s, st.partial = strings.CutSuffix(s, "+")
	status, err := strconv.Atoi(s)
	st.status, st.setUp, st.endings = status, true, "\n"
	return err
}

// repeated parses a line of a request's body that is repeated.
func (p *parser) repeated(s string) error {
	count, text, _ := strings.Cut(s, " ")
	n, err := strconv.Atoi(count)
	if err != nil || p.current == nil || !p.inBody {
		return fmt.Errorf("%q cannot be repeated", s)
	}
	st := &p.current.steps[len(p.current.steps)-1]
	text = strings.ReplaceAll(text, `\r\n`, "\r\n")
	for i := range n {
		st.body = st.add(st.body, strings.ReplaceAll(text, "#", strconv.Itoa(i)))
	}
	return nil
}

// add adds a line to a body. Empty lines at its beginning are lost.
func (st *step) add(body, s string) string {
	if body == "" {
		return s
	}
	return body + st.endings + s
}

// set sets a line of a header.
func set(header []line, l line) []line {
	for i := range header {
		if strings.EqualFold(header[i].name, l.name) {
			header[i].value = l.value
			return header
		}
	}
	return append(header, l)
}
