package storagetest

import (
	"net/http"
	"strconv"
)

const maxPage = 1000

// query is what a call asks of a table's rows, or of the account's tables.
type query struct {
	where          *expr
	names          []string // $select
	top            int
	nextPK, nextRK *string
	nextTable      *string
}

func parseQuery(c *call) (q query, f *failure) {
	q.top = maxPage
	for name, values := range c.query {
		if len(values) != 1 {
			return q, errQuery
		}
		value := values[0]
		switch name {
		case "$filter":
			q.where, f = parseFilter(value)
		case "$select":
			q.names, f = selected(c)
		case "$top":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > maxPage {
				f = errInput
			}
			q.top = n
		case "NextPartitionKey":
			q.nextPK, f = place(value)
		case "NextRowKey":
			q.nextRK, f = place(value)
		case "NextTableName":
			q.nextTable, f = place(value)
		case "$orderby", "$skip", "$expand", "$inlinecount", "$count", "$skiptoken":
			f = errUnsupported
		}
		if f != nil {
			return q, f
		}
	}
	if q.nextRK != nil && q.nextPK == nil {
		return q, errInput
	}
	if q.where == nil {
		q.where = &expr{}
	}
	return q, nil
}

// place reads a continuation token of a call. An empty one is refused.
func place(value string) (*string, *failure) {
	if value == "" {
		return nil, errInput
	}
	key, f := parseToken(value)
	return &key, f
}

// query answers a query of rows with one page. end is after how many rows it ends although there are more; below 0 it does not
// end early.
func (s *state) query(c *call, t target, end int) *reply {
	tab := s.table(t.table)
	if tab == nil {
		return refuse(errNoTable)
	}
	q, f := parseQuery(c)
	if f == nil && !c.grant.may('r') {
		f = errPermission
	}
	if f != nil {
		return refuse(f)
	}
	if end >= 0 && end < q.top {
		q.top = end
	}
	r := &reply{status: http.StatusOK, mime: c.level.contentType(), version: "3.0;"}
	var w writer
	w.WriteByte('{')
	if c.level != none {
		w.member("odata.metadata", c.base+"/$metadata#"+t.table+selectionOf(c, q))
	}
	w.key("value")
	w.WriteByte('[')
	n := 0
	tab.scan(q, func(e *entity) bool {
		if !c.grant.covers(e.pk, e.rk) || !q.where.holds(e) {
			return true
		}
		if n == q.top {
			r.extra = []field{{"x-ms-continuation-NextPartitionKey", token(e.pk)}, {"x-ms-continuation-NextRowKey", token(e.rk)}}
			return false
		}
		if n > 0 {
			w.WriteByte(',')
		}
		n++
		e.write(&w, c, t.table, q.names, false)
		return true
	})
	w.WriteString("]}")
	r.body = w.Bytes()
	return r
}

// selectionOf is what the answer's address says of the projection, also of an empty one.
func selectionOf(c *call, q query) string {
	if c.query.Has("$select") && q.names == nil {
		return "&$select=" + c.query.Get("$select")
	}
	return selection(q.names)
}

// scan visits the rows that the query can find, in order, from its place on.
func (t *tableData) scan(q query, visit func(*entity) bool) {
	pks, rks := q.where.keys("PartitionKey"), q.where.keys("RowKey")
	if q.nextPK != nil && compareText(*q.nextPK, pks.from) > 0 {
		pks.from = *q.nextPK
	}
	i, _ := t.partition(pks.from)
	for _, p := range t.partitions[i:] {
		if !pks.contains(p.pk) {
			return
		}
		from := rks.from
		if q.nextRK != nil && p.pk == *q.nextPK && compareText(*q.nextRK, from) > 0 {
			from = *q.nextRK
		}
		j, _ := p.row(from)
		for _, e := range p.rows[j:] {
			if !rks.contains(e.rk) {
				break
			}
			if !visit(e) {
				return
			}
		}
	}
}
