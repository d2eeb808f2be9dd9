package storagetest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// row carries out a call that addresses one row, or inserts one. now is the time of the service; each call stands for
// itself, and what it has changed can be rolled back.
func (s *state) row(c *call, t target, now time.Time) *reply {
	switch {
	case c.grant != nil && strings.ToLower(t.table) != c.grant.table:
		return refuse(errForbidden)
	case c.method == http.MethodPost && !t.keyed:
		return s.insert(c, t, now)
	case !t.keyed || c.method == http.MethodPost:
		return refuse(errMethod)
	case c.method == http.MethodGet:
		return s.get(c, t)
	case c.method == http.MethodPut:
		return s.update(c, t, now, false)
	case c.method == http.MethodPatch, c.method == "MERGE":
		return s.update(c, t, now, true)
	case c.method == http.MethodDelete:
		return s.remove(c, t)
	}
	return refuse(errMethod)
}

func (s *state) get(c *call, t target) *reply {
	tab := s.table(t.table)
	if tab == nil {
		return refuse(errNoTable)
	}
	if f := checkKeys(t.pk, t.rk); f != nil {
		return refuse(f)
	}
	if !c.grant.may('r') {
		return refuse(errPermission)
	}
	e := tab.get(t.pk, t.rk)
	if e == nil || !c.grant.covers(t.pk, t.rk) {
		return refuse(errNotFound)
	}
	names, f := selected(c)
	if f != nil {
		return refuse(f)
	}
	var w writer
	e.write(&w, c, t.table, names, true)
	return &reply{status: http.StatusOK, etag: e.etag(), body: w.Bytes(), mime: c.level.contentType(), version: "3.0;"}
}

// selected reads $select: nil is everything.
func selected(c *call) ([]string, *failure) {
	text := c.query.Get("$select")
	if text == "" || text == "*" {
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return nil, errQuery
		}
		names = append(names, name)
	}
	return names, nil
}

// entityOf reads the body of a write.
func entityOf(c *call) (entity, [2]*string, *failure) {
	if c.read == nil {
		c.read = new(parsed)
		if mime, _, _ := strings.Cut(c.header.Get("Content-Type"), ";"); strings.TrimSpace(mime) != "application/json" {
			c.read.failure = errMedia
		} else {
			c.read.entity, c.read.keys, c.read.failure = parseEntity(c.body)
		}
	}
	e := c.read.entity
	e.props = slices.Clone(e.props) // a request may arrive twice
	return e, c.read.keys, c.read.failure
}

func (s *state) insert(c *call, t target, now time.Time) *reply {
	tab := s.table(t.table)
	if tab == nil {
		return refuse(errNoTable)
	}
	e, keys, f := entityOf(c)
	switch {
	case f != nil:
		return refuse(f)
	case keys[0] == nil || keys[1] == nil:
		return refuse(errNeedValue)
	}
	e.pk, e.rk = *keys[0], *keys[1]
	if f := checkKeys(e.pk, e.rk); f != nil {
		return refuse(f)
	}
	if f := e.check(); f != nil {
		return refuse(f)
	}
	switch {
	case !c.grant.may('a'):
		return refuse(errPermission)
	case !c.grant.covers(e.pk, e.rk):
		return refuse(errForbidden)
	case tab.get(e.pk, e.rk) != nil:
		return refuse(errExists)
	}
	e.stamp = tab.stamp(now, nil)
	s.put(tab, e.pk, e.rk, &e)
	r := &reply{status: http.StatusCreated, prefer: preference(c), etag: e.etag(), location: c.base + "/" + t.table + address(e.pk, e.rk), version: "3.0;"}
	if r.prefer == "return-no-content" {
		r.status, r.dataID = http.StatusNoContent, true
		return r
	}
	var w writer
	e.write(&w, c, t.table, nil, true)
	r.body, r.mime = w.Bytes(), c.level.contentType()
	return r
}

func checkKeys(pk, rk string) *failure {
	if f := checkKey(pk); f != nil {
		return f
	}
	return checkKey(rk)
}

// update is replace and merge: with If-Match of a row that exists, without of any row. The address's keys count, not the
// body's.
func (s *state) update(c *call, t target, now time.Time, merge bool) *reply {
	tab := s.table(t.table)
	if tab == nil {
		return refuse(errNoTable)
	}
	e, _, f := entityOf(c)
	if f == nil {
		f = checkKeys(t.pk, t.rk)
	}
	if f != nil {
		return refuse(f)
	}
	match := c.header.Get("If-Match")
	switch {
	case match == "" && (!c.grant.may('a') || !c.grant.may('u')), match != "" && !c.grant.may('u'):
		return refuse(errPermission)
	case !c.grant.covers(t.pk, t.rk):
		return refuse(errForbidden)
	}
	old := tab.get(t.pk, t.rk)
	if match != "" {
		if f := matches(old, match); f != nil {
			return refuse(f)
		}
	}
	e.pk, e.rk = t.pk, t.rk
	if merge && old != nil {
		e.merged(old)
	}
	if f := e.check(); f != nil {
		return refuse(f)
	}
	e.sorted()
	e.stamp = tab.stamp(now, old)
	s.put(tab, e.pk, e.rk, &e)
	return &reply{status: http.StatusNoContent, etag: e.etag(), version: "1.0;"}
}

// matches holds a condition against a row.
func matches(e *entity, match string) *failure {
	switch {
	case e == nil:
		return errNotFound
	case match != "*" && match != e.etag():
		return errCondition
	}
	return nil
}

func (s *state) remove(c *call, t target) *reply {
	tab := s.table(t.table)
	match := c.header.Get("If-Match")
	switch {
	case tab == nil:
		return refuse(errNoTable)
	case match == "":
		return refuse(errHeader)
	case !c.grant.may('d'):
		return refuse(errPermission)
	case !c.grant.covers(t.pk, t.rk):
		return refuse(errForbidden)
	}
	if f := checkKeys(t.pk, t.rk); f != nil {
		return refuse(f)
	}
	if f := matches(tab.get(t.pk, t.rk), match); f != nil {
		return refuse(f)
	}
	s.put(tab, t.pk, t.rk, nil)
	return &reply{status: http.StatusNoContent, version: "1.0;"}
}
