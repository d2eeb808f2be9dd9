package tables

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

var validTableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{2,62}$`)

// tableOperation executes a call to the tables of the account.
func (c *call) tableOperation(a address, now time.Time) *response {
	if f := c.checkTables(); f != nil {
		return refuse(f)
	}
	t := c.store.table(a.tableName)
	switch {
	case c.Method == http.MethodPost && a.tableName == "":
		return c.createTable(now)
	case c.Method == http.MethodGet && a.tableName == "":
		return c.queryTables()
	case c.Method != http.MethodGet && c.Method != http.MethodDelete:
		return refuse(errMethodNotAllowed)
	case t == nil:
		return refuse(errNotFound)
	case c.Method == http.MethodDelete:
		c.store.deleteTable(t, now)
		return &response{status: http.StatusNoContent}
	}
	return &response{status: http.StatusOK, body: c.tableJSON(t.name), contentType: c.level.ContentType()}
}

// checkTables returns the failure of an operation on tables that a signature does not permit.
func (c *call) checkTables() *odata.Failure {
	need := access.Need{Type: "c", Account: true}
	switch c.Method {
	case http.MethodGet:
		need.Permissions = []string{"l"}
	case http.MethodDelete:
		need.Permissions = []string{"d"}
	default:
		need.Permissions = []string{"c", "w"}
	}
	return c.check(need)
}

// createTable creates a table.
func (c *call) createTable(now time.Time) *response {
	if !odata.IsJSON(c.Header.Get("Content-Type")) {
		return refuse(odata.UnknownMediaType)
	}
	members, ok := odata.ParseObject(c.Body)
	i := slices.IndexFunc(members, func(m odata.Member) bool { return m.Name == "TableName" })
	if !ok || i < 0 {
		return refuse(odata.InvalidInput)
	}
	name, ok := members[i].Value.(string)
	switch {
	case !ok:
		return refuse(odata.InvalidInput)
	case len(name) < 3 || len(name) > 63:
		return refuse(odata.OutOfRange)
	case !validTableName.MatchString(name) || strings.EqualFold(name, tablesResource):
		return refuse(errTableName)
	case c.store.table(name) != nil:
		return refuse(errTableExists)
	case c.store.reserved(name, now, c.options.NameReuseDelay):
		return refuse(errTableBeingDeleted)
	}
	c.store.createTable(name)
	return c.created(c.Base+"/Tables('"+name+"')", func() []byte { return c.tableJSON(name) })
}

// queryTables executes a query of tables and returns one page.
func (c *call) queryTables() *response {
	q, f := c.parseQuery()
	if f == nil && c.Query.Has("$select") {
		f = odata.NotImplemented
	}
	if f != nil {
		return refuse(f)
	}
	from := ""
	if q.nextTable != nil {
		from, _, _ = strings.Cut(*q.nextTable, "\x01")
	}
	var names []string
	for name, t := range c.store.tables {
		row := &entity{properties: []odata.Property{{Name: "TableName", Type: odata.String, Value: t.name}}}
		if name >= from && q.filter.Matches(row) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	r := &response{status: http.StatusOK, contentType: c.level.ContentType()}
	if len(names) > q.top {
		next := names[q.top] + fmt.Sprintf("\x01%016x", q.top)
		r.next = http.Header{}
		r.next.Set("x-ms-continuation-NextTableName", formatToken(next))
		names = names[:q.top]
	}
	var w odata.Writer
	w.Open()
	if c.level != odata.NoMetadata {
		w.Member("odata.metadata", c.Base+"/$metadata#Tables")
	}
	w.Key("value")
	w.WriteByte('[')
	for i, name := range names {
		if i > 0 {
			w.WriteByte(',')
		}
		c.writeTable(&w, c.store.tables[name].name, false)
	}
	w.WriteString("]}")
	r.body = w.Bytes()
	return r
}

// tableJSON returns a table as the body of a response.
func (c *call) tableJSON(name string) []byte {
	var w odata.Writer
	c.writeTable(&w, name, true)
	return w.Bytes()
}

// writeTable writes a table as the body of a response, or as an element of a list.
func (c *call) writeTable(w *odata.Writer, name string, isBody bool) {
	w.Open()
	if isBody && c.level != odata.NoMetadata {
		w.Member("odata.metadata", c.Base+"/$metadata#Tables/@Element")
	}
	if c.level == odata.FullMetadata {
		w.Member("odata.type", c.Account.Name+".Tables")
		w.Member("odata.id", c.Base+"/Tables('"+name+"')")
		w.Member("odata.editLink", "Tables('"+name+"')")
	}
	w.Member("TableName", name)
	w.Close()
}
