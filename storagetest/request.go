package storagetest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Request is a request as the service has seen it.
type Request struct {
	Number int    // the first is 1
	Kind   string // as the documentation of the package lists them
	Table  string

	// PartitionKey and RowKey are those that are addressed, inserted, or asked for by a filter for just one.
	PartitionKey, RowKey string

	// Operations are those of a transaction.
	Operations []Request

	// Queue is the queue that is addressed, and Message the id of the one of its messages that is.
	Queue, Message string

	Method, URL string
	Time        time.Time

	Late   bool   // it arrives after it was sent
	Fault  Fault  // what went wrong
	Status int    // what was answered, 0 if nothing was
	Code   string // the error code
}

// String is the request in a line: "3 insert staff('Sales','empid_000223'): 409 EntityAlreadyExists".
func (r Request) String() string {
	s := r.what()
	if r.Number > 0 {
		s = fmt.Sprintf("%d %s", r.Number, s)
	}
	if r.Late {
		s += " arrives"
	} else if r.Fault != (Fault{}) {
		s += " [" + r.Fault.String() + "]"
	}
	if r.Status > 0 {
		s += fmt.Sprintf(": %d", r.Status)
	}
	if r.Code != "" {
		s += " " + r.Code
	}
	return s
}

// what is what the request asks for.
func (r Request) what() string {
	s := r.Kind
	if r.Table != "" {
		s += " " + r.Table
	}
	if r.Queue != "" {
		s += " " + r.Queue
	}
	if r.Message != "" {
		s += "/" + r.Message
	}
	if r.PartitionKey+r.RowKey != "" {
		s += "('" + r.PartitionKey + "','" + r.RowKey + "')"
	}
	var ops []string
	for _, o := range r.Operations {
		o.Table = ""
		ops = append(ops, o.what())
	}
	if ops != nil {
		s += " {" + strings.Join(ops, ", ") + "}"
	}
	return s
}

// Describe reads a request without answering it. It returns one that can still be sent.
func (s *Service) Describe(r *http.Request) (Request, *http.Request, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return Request{}, nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	c, _ := s.receive(r, body)
	out := c.describe()
	out.Method, out.URL, out.Time = r.Method, r.URL.String(), s.Now()
	return out, r, nil
}

// describe is the record of a request, before it is carried out.
func (s *Service) describe(r *http.Request, c *call, unread bool) Request {
	var out Request
	if unread && !c.queue {
		t, f := parseTarget(c.path)
		out = Request{Kind: c.kind(t, f), Table: t.table, PartitionKey: t.pk, RowKey: t.rk}
	} else {
		out = c.describe()
	}
	out.Number, out.Method, out.URL, out.Time = s.number, r.Method, r.URL.String(), s.now()
	return out
}

func (c *call) describe() Request {
	if c.queue {
		return c.describeQueue()
	}
	t, f := parseTarget(c.path)
	out := Request{Kind: c.kind(t, f), Table: t.table, PartitionKey: t.pk, RowKey: t.rk}
	switch out.Kind {
	case "table-create", "table-delete", "table-query":
		out.Table = t.name
		if out.Kind == "table-create" {
			if members, ok := parseObject(c.body); ok && len(members) == 1 {
				out.Table, _ = members[0].value.(string)
			}
		}
	case "insert":
		if o, f := c.row(); f == nil {
			out.PartitionKey, out.RowKey = o.pk, o.rk
		}
	case "query":
		if where, f := parseFilter(c.query.Get("$filter")); f == nil {
			if k := where.keys("PartitionKey"); !k.open && k.from == k.to {
				out.PartitionKey = k.from
			}
			if k := where.keys("RowKey"); !k.open && k.from == k.to {
				out.RowKey = k.from
			}
		}
	case "transaction":
		out.Table = ""
		if b, f := c.transaction(); f == nil {
			for _, op := range b.ops {
				out.Operations = append(out.Operations, op.describe())
			}
			if b.ops != nil {
				out.Table = out.Operations[0].Table
			}
		}
	}
	return out
}

// kind names what a call asks for.
func (c *call) kind(t target, f *failure) string {
	conditional := c.header.Get("If-Match") != ""
	switch {
	case f != nil || t.table == "" || c.query.Has("comp") || c.query.Has("restype"):
		return "other"
	case t.table == "$batch":
		return "transaction"
	case t.table == "Tables":
		switch c.method {
		case http.MethodPost:
			return "table-create"
		case http.MethodDelete:
			return "table-delete"
		}
		return "table-query"
	}
	switch c.method {
	case http.MethodGet:
		if t.keyed {
			return "get"
		}
		return "query"
	case http.MethodPost:
		return "insert"
	case http.MethodDelete:
		return "delete"
	case http.MethodPut:
		if conditional {
			return "replace"
		}
		return "insert-or-replace"
	case http.MethodPatch, "MERGE":
		if conditional {
			return "merge"
		}
		return "insert-or-merge"
	}
	return "other"
}

// code is the error code of a response, also of one inside a transaction.
func (r *reply) code() string {
	if r.failure != nil {
		return r.failure.code
	}
	return r.inside
}

// remember counts and lists a request.
func (s *Service) remember(r Request) {
	s.counts[r.Kind]++
	if s.opt.Remember < 0 {
		return
	}
	s.last = append(s.last, r)
	if s.weight += 1 + len(r.Operations); s.weight <= 2*s.opt.Remember {
		return
	}
	first := 0
	for s.weight > s.opt.Remember && first < len(s.last)-1 {
		s.weight -= 1 + len(s.last[first].Operations)
		first++
	}
	s.last = slices.Clone(s.last[first:])
}

// Requests lists the last requests, oldest first.
func (s *Service) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	weight, first := 0, len(s.last)
	for first > 0 && weight < s.opt.Remember {
		first--
		weight += 1 + len(s.last[first].Operations)
	}
	return slices.Clone(s.last[first:])
}

// Count is how many requests of each kind there were since the last call of Count, as in "1 get, 2 query", or "none".
func (s *Service) Count() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(s.counts)) {
		all = append(all, fmt.Sprintf("%d %s", s.counts[kind], kind))
	}
	clear(s.counts)
	if all == nil {
		return "none"
	}
	return strings.Join(all, ", ")
}

// Row is a row as the service holds it.
type Row struct {
	PartitionKey, RowKey string
	ETag                 string
	Timestamp            time.Time
	Properties           []Property
}

// Get returns the value of a property, nil if the row lacks it.
func (r Row) Get(name string) any {
	for _, p := range r.Properties {
		if p.Name == name {
			return p.Value
		}
	}
	return nil
}

// Rows returns the rows of a table in order, without a request: for checks.
func (s *Service) Rows(table string) []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.state.table(table)
	if t == nil {
		return nil
	}
	var rows []Row
	for _, p := range t.partitions {
		for _, e := range p.rows {
			props := slices.Clone(e.props)
			for i, p := range props {
				if b, ok := p.Value.([]byte); ok {
					props[i].Value = bytes.Clone(b)
				}
			}
			rows = append(rows, Row{e.pk, e.rk, e.etag(), e.stamp, props})
		}
	}
	return rows
}

// Tables returns the names of the tables in order, without a request.
func (s *Service) Tables() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, t := range s.state.tables {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return names
}
