package storagetest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var tableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{2,62}$`)

// life carries out a call on /Tables.
func (s *state) life(c *call, t target, now time.Time, gone time.Duration) *reply {
	if c.grant != nil {
		return refuse(errForbidden) // a signature for one table allows nothing here
	}
	tab := s.table(t.name)
	switch {
	case c.method == http.MethodPost && t.name == "":
		return s.create(c, now, gone)
	case c.method == http.MethodGet && t.name == "":
		return s.list(c)
	case c.method != http.MethodGet && c.method != http.MethodDelete:
		return refuse(errMethod)
	case tab == nil:
		return refuse(errNotFound)
	case c.method == http.MethodDelete:
		delete(s.tables, strings.ToLower(t.name))
		s.deleted[strings.ToLower(t.name)] = deletion{now, tab.youngest()}
		return &reply{status: http.StatusNoContent}
	}
	var w writer
	writeTable(&w, c, tab.name, true)
	return &reply{status: http.StatusOK, body: w.Bytes(), mime: c.level.contentType()}
}

func (s *state) create(c *call, now time.Time, gone time.Duration) *reply {
	if mime, _, _ := strings.Cut(c.header.Get("Content-Type"), ";"); strings.TrimSpace(mime) != "application/json" {
		return refuse(errMedia)
	}
	members, ok := parseObject(c.body)
	i := slices.IndexFunc(members, func(m member) bool { return m.name == "TableName" })
	if !ok || i < 0 {
		return refuse(errInput)
	}
	name, ok := members[i].value.(string)
	switch deleted, is := s.deleted[strings.ToLower(name)]; {
	case !ok:
		return refuse(errInput)
	case (len(name) < 3 || len(name) > 63):
		return refuse(errRange)
	case !tableName.MatchString(name) || strings.EqualFold(name, "tables"):
		return refuse(errTableName)
	case s.table(name) != nil:
		return refuse(errTableExists)
	case is && gone > 0 && now.Sub(deleted.at) < gone:
		return refuse(errBeingDeleted)
	default:
		s.tables[strings.ToLower(name)] = &tableData{name: name, dropped: deleted.youngest}
	}
	delete(s.deleted, strings.ToLower(name))
	r := &reply{status: http.StatusCreated, prefer: preference(c), location: c.base + "/Tables('" + name + "')"}
	if r.prefer == "return-no-content" {
		r.status, r.dataID = http.StatusNoContent, true
		return r
	}
	var w writer
	writeTable(&w, c, name, true)
	r.body, r.mime = w.Bytes(), c.level.contentType()
	return r
}

func writeTable(w *writer, c *call, name string, alone bool) {
	w.WriteByte('{')
	w.more = false
	if alone && c.level != none {
		w.member("odata.metadata", c.base+"/$metadata#Tables/@Element")
	}
	if c.level == full {
		w.member("odata.type", c.account+".Tables")
		w.member("odata.id", c.base+"/Tables('"+name+"')")
		w.member("odata.editLink", "Tables('"+name+"')")
	}
	w.member("TableName", name)
	w.WriteByte('}')
	w.more = true
}

// list answers a query of tables.
func (s *state) list(c *call) *reply {
	q, f := parseQuery(c)
	if f != nil {
		return refuse(f)
	}
	from := ""
	if q.nextTable != nil {
		from, _, _ = strings.Cut(*q.nextTable, "\x01")
	}
	var names []string
	for name := range s.tables {
		if name >= from && q.where.holds(&entity{props: []Property{{"TableName", String, s.tables[name].name}}}) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	r := &reply{status: http.StatusOK, mime: c.level.contentType()}
	if len(names) > q.top {
		next := names[q.top] + fmt.Sprintf("\x01%016x", q.top)
		r.extra = []field{{"x-ms-continuation-NextTableName", token(next)}}
		names = names[:q.top]
	}
	var w writer
	w.WriteByte('{')
	if c.level != none {
		w.member("odata.metadata", c.base+"/$metadata#Tables")
	}
	w.key("value")
	w.WriteByte('[')
	for i, name := range names {
		if i > 0 {
			w.WriteByte(',')
		}
		writeTable(&w, c, s.tables[name].name, false)
	}
	w.WriteString("]}")
	r.body = w.Bytes()
	return r
}

// A continuation token: 1!length!base64 of a key, in an alphabet that URLs take.
var (
	toToken   = strings.NewReplacer("=", "-", "/", "_", "+", "*")
	fromToken = strings.NewReplacer("-", "=", "_", "/", "*", "+")
)

func token(key string) string {
	text := toToken.Replace(base64.StdEncoding.EncodeToString([]byte(key)))
	return "1!" + strconv.Itoa(len(text)) + "!" + text
}

func parseToken(s string) (string, *failure) {
	_, rest, ok := strings.Cut(s, "!")
	length, text, ok2 := strings.Cut(rest, "!")
	n, err := strconv.Atoi(length)
	key, berr := base64.StdEncoding.DecodeString(fromToken.Replace(text))
	if !ok || !ok2 || s[0] != '1' || err != nil || n != len(text) || berr != nil {
		return "", errInput
	}
	return string(key), nil
}
