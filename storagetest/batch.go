package storagetest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The limits of an entity group transaction.
const (
	maxOperations = 100
	maxBatch      = 4 << 20
)

// batch is a transaction as it was read.
type batch struct {
	ops []*call
	set bool // in a change set; else it is a GET alone
}

// transact carries out a transaction: all operations, or none.
func (s *state) transact(c *call, now time.Time, inner Fault) *reply {
	if len(c.body) > maxBatch {
		return refuse(errTooLarge)
	}
	b, f := c.transaction()
	if f != nil {
		return refuse(f)
	}
	replies := make([]*reply, 0, len(b.ops))
	seen := make(map[string]bool, len(b.ops))
	for i, op := range b.ops {
		r := s.operation(b, i, now, seen)
		if f := inner.inside(i, len(b.ops)); f != nil {
			r = refuse(f)
		}
		r.finish(op, now)
		if r.failure != nil {
			s.rollback()
			prefix := ""
			if i > 0 || r.failure.index || !b.set {
				prefix = strconv.Itoa(min(i, maxOperations-1)) + ":"
			}
			r.body = r.failure.json(prefix, c.id, now)
			if r.prefer = preference(op); r.failure.terse {
				r.prefer = ""
			}
			out := b.reply(c, []*reply{r}, i)
			out.inside = r.failure.code
			return out
		}
		replies = append(replies, r)
	}
	return b.reply(c, replies, 0)
}

// operation carries out the i-th operation of a transaction, which has changed the rows seen so far.
func (s *state) operation(b *batch, i int, now time.Time, seen map[string]bool) *reply {
	op := b.ops[i]
	t, f := op.row()
	switch {
	case op.bad != nil:
		return refuse(op.bad)
	case f != nil:
		return refuse(f)
	case i >= maxOperations:
		return refuse(errHundred)
	case !b.set:
		return s.get(op, t)
	case op.method == http.MethodGet:
		return refuse(errInput)
	}
	switch first, _ := b.ops[0].row(); {
	case first.pk != t.pk || !strings.EqualFold(first.table, t.table):
		return refuse(errPartitions)
	case seen[t.rk] && op.version < "2016-05-31":
		return refuse(errInput)
	case seen[t.rk]:
		return refuse(errTwice)
	}
	seen[t.rk] = true
	// The service stamps updates by another clock than inserts.
	if op.method != http.MethodPost {
		now = now.Add(-time.Duration(i*37%101) * 100 * time.Microsecond)
	}
	return s.row(op, t, now)
}

// row is which row an operation is about: by its address, or of an insert by its body.
func (c *call) row() (t target, f *failure) {
	t, f = parseTarget(c.path)
	if f != nil || t.keyed {
		return t, f
	}
	if c.method != http.MethodPost {
		return t, errInput
	}
	_, keys, f := entityOf(c)
	switch {
	case f != nil:
		return t, f
	case keys[0] == nil || keys[1] == nil:
		return t, errNeedValue
	}
	t.pk, t.rk = *keys[0], *keys[1]
	return t, nil
}

// reply writes the answers. Of a failed transaction there is one, that of the operation at failed.
func (b *batch) reply(c *call, replies []*reply, failed int) *reply {
	outer, inner := "batchresponse_"+guid(c.id, 1), "changesetresponse_"+guid(c.id, 2)
	var w bytes.Buffer
	const head = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
	w.WriteString("--" + outer + "\r\n")
	if !b.set {
		w.WriteString(head)
		replies[0].part(&w, "")
	} else {
		w.WriteString("Content-Type: multipart/mixed; boundary=" + inner + "\r\n\r\n")
		for i, r := range replies {
			op := b.ops[i+failed]
			w.WriteString("--" + inner + "\r\n" + head)
			id := op.header.Get("Content-ID")
			if id == "0" {
				id = ""
			}
			r.part(&w, id)
		}
		w.WriteString("--" + inner + "--\r\n")
	}
	w.WriteString("--" + outer + "--\r\n")
	return &reply{status: http.StatusAccepted, body: w.Bytes(), mime: "multipart/mixed; boundary=" + outer}
}

// guid is a text in the form of a GUID, made of a request's id.
func guid(id string, n int) string {
	return id[:14] + "4" + id[15:len(id)-1] + strconv.Itoa(n)
}

// transaction reads the body as one.
func (c *call) transaction() (*batch, *failure) {
	if c.batch != nil {
		return c.batch, nil
	}
	b, f := parseBatch(c)
	c.batch = b
	return b, f
}

// parseBatch reads the body of a transaction, to its closing boundaries.
func parseBatch(c *call) (*batch, *failure) {
	outer, ok := boundary(c.header.Get("Content-Type"))
	if !ok {
		return nil, errHeader
	}
	parts, ok := split(c.body, outer)
	if !ok || len(parts) != 1 {
		return nil, errInput
	}
	head, body, ok := mimePart(parts[0])
	if !ok {
		return nil, errInput
	}
	b := &batch{}
	if inner, is := boundary(head.Get("Content-Type")); is {
		b.set = true
		if parts, ok = split(body, inner); !ok {
			return nil, errInput
		}
	}
	for _, part := range parts {
		head, body, ok := mimePart(part)
		if !ok || !strings.HasPrefix(head.Get("Content-Type"), "application/http") {
			return nil, errInput
		}
		op, f := c.inner(body)
		if f != nil {
			return nil, f
		}
		b.ops = append(b.ops, op)
	}
	if !b.set && (len(b.ops) != 1 || b.ops[0].method != http.MethodGet) {
		return nil, errInput
	}
	return b, nil
}

func boundary(contentType string) (string, bool) {
	t, params, err := mime.ParseMediaType(contentType)
	return params["boundary"], err == nil && t == "multipart/mixed" && params["boundary"] != ""
}

// split cuts a multipart body into its parts. It must be whole, to its closing boundary. Lines end in CR LF or LF.
func split(body []byte, boundary string) (parts [][]byte, ok bool) {
	open, closing := "--"+boundary, "--"+boundary+"--"
	var part []byte
	begun := false
	for rest := body; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		line := rest
		if i >= 0 {
			line = rest[:i+1]
		}
		rest = rest[len(line):]
		switch text := string(bytes.TrimRight(line, "\r\n")); {
		case text == open || text == closing:
			if begun {
				part = bytes.TrimSuffix(part, []byte("\n")) // the line's end before a boundary belongs to it
				parts = append(parts, bytes.TrimSuffix(part, []byte("\r")))
			}
			if text == closing {
				return parts, len(bytes.TrimSpace(rest)) == 0
			}
			part, begun = nil, true
		case begun:
			part = append(part, line...)
		case text != "":
			return nil, false
		}
	}
	return nil, false
}

// mimePart cuts a part into its head and its body.
func mimePart(part []byte) (textproto.MIMEHeader, []byte, bool) {
	r := bufio.NewReader(bytes.NewReader(part))
	head, err := textproto.NewReader(r).ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, false
	}
	body, _ := io.ReadAll(r)
	return head, body, true
}

// inner reads one operation: a request line, a head, a body.
func (c *call) inner(text []byte) (*call, *failure) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	line := strings.TrimSpace(string(first))
	method, address, _ := strings.Cut(line, " ")
	address, proto := address[:max(0, strings.LastIndexByte(address, ' '))], address[strings.LastIndexByte(address, ' ')+1:]
	head, body, ok := mimePart(rest)
	if !ok || address == "" || !strings.HasPrefix(proto, "HTTP/1.") {
		return nil, errInput
	}
	path, rawQuery, _ := strings.Cut(address, "?")
	if u, err := url.Parse(path); err == nil && u.Host != "" {
		base, err := url.Parse(c.base)
		if err != nil || u.Host != base.Host {
			return nil, errInput
		}
		path = strings.TrimPrefix(u.EscapedPath(), base.Path)
	}
	query, err := parseQueryString(rawQuery)
	op := &call{method: method, path: path, query: query, header: http.Header(head), body: body, account: c.account, base: c.base, version: c.version, grant: c.grant, id: c.id}
	if err != nil {
		op.bad = errQuery
	}
	if n, err := strconv.Atoi(head.Get("Content-Length")); err == nil && n >= 0 && n < len(body) {
		op.body = body[:n]
	}
	if len(bytes.TrimSpace(op.body)) == 0 {
		op.body = nil
	}
	var f *failure
	if op.level, f = chooseLevel(head.Get("Accept"), query); f != nil {
		op.bad = f
	}
	return op, nil
}
