package tables

import (
	"cmp"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// The service's limits.
const (
	maxKey        = 512    // UTF-16 units, 1 KiB
	maxName       = 255    // UTF-16 units
	maxProperties = 252    // without the keys and the Timestamp
	maxText       = 32_768 // UTF-16 units
	maxBinary     = 64 << 10
	maxEntity     = 1 << 20
)

// entity is a stored entity. An entity is replaced and never modified.
type entity struct {
	pk, rk     string
	timestamp  time.Time
	etag       string // which the service makes of the timestamp
	properties []odata.Property
}

// setTimestamp sets the Timestamp and the ETag.
func (e *entity) setTimestamp(t time.Time) {
	e.timestamp = t
	b := make([]byte, 0, 64)
	b = append(b, `W/"datetime'`...)
	b = odata.AppendTime(b, t, "%3A")
	e.etag = string(append(b, `'"`...))
}

// Property implements odata.Row.
func (e *entity) Property(name string) (odata.Property, bool) {
	switch name {
	case "PartitionKey":
		return odata.Property{Name: name, Type: odata.String, Value: e.pk}, true
	case "RowKey":
		return odata.Property{Name: name, Type: odata.String, Value: e.rk}, true
	case "Timestamp":
		return odata.Property{Name: name, Type: odata.DateTime, Value: e.timestamp}, true
	}
	for _, p := range e.properties {
		if p.Name == name {
			return p, true
		}
	}
	return odata.Property{}, false
}

func (e *entity) sortKey() string { return e.rk }

// checkKeys checks a PartitionKey and a RowKey against the limits.
func (o *Options) checkKeys(pk, rk string) *odata.Failure {
	for _, key := range []string{pk, rk} {
		if odata.Units(key) > maxKey && !o.Lenient {
			return errKeyTooLarge
		}
		for _, r := range key {
			if r < 0x20 || r >= 0x7F && r <= 0x9F || strings.ContainsRune(`/\#?`, r) {
				return odata.OutOfRange
			}
		}
	}
	return nil
}

// check checks the entity against the limits.
func (e *entity) check() *odata.Failure {
	if len(e.properties) > maxProperties {
		return errTooManyProperties
	}
	size := 4 + 2*(odata.Units(e.pk)+odata.Units(e.rk))
	for _, p := range e.properties {
		switch {
		case odata.Units(p.Name) > maxName:
			return errNameTooLong
		case !odata.IsIdentifier(p.Name):
			return errNameInvalid
		}
		switch v := p.Value.(type) {
		case string:
			if odata.Units(v) > maxText {
				return errValueTooLarge
			}
		case []byte:
			if len(v) > maxBinary {
				return errValueTooLarge
			}
		}
		size += propertySize(p)
	}
	if size > maxEntity {
		return errEntityTooLarge
	}
	return nil
}

// propertySize returns the bytes that a property adds to the size of an entity, by the documented
// formula.
func propertySize(p odata.Property) int {
	n := 8 + 2*odata.Units(p.Name)
	switch v := p.Value.(type) {
	case string:
		if p.Type == odata.GUID {
			return n + 16
		}
		return n + 2*odata.Units(v) + 4
	case []byte:
		return n + len(v) + 4
	case int32:
		return n + 4
	case bool:
		return n + 1
	}
	return n + 8
}

// sort sorts the properties as the service returns them after an update: by name, upper case first.
func (e *entity) sort() {
	slices.SortFunc(e.properties, func(a, b odata.Property) int { return cmp.Compare(a.Name, b.Name) })
}

// merge adds the properties of old that e does not have.
func (e *entity) merge(old *entity) {
	for _, p := range old.properties {
		if !slices.ContainsFunc(e.properties, func(n odata.Property) bool { return n.Name == p.Name }) {
			e.properties = append(e.properties, p)
		}
	}
}

// entityOperation executes a call that reads or writes one entity. The caller rolls back the
// changes of a failed call.
func (c *call) entityOperation(a address, now time.Time) *response {
	switch {
	case c.grant != nil && !c.grant.IsAccount() && strings.ToLower(a.resource) != c.grant.table:
		return refuse(errAuthorization)
	case c.Get("If-None-Match") != "" && c.Method != http.MethodGet && c.Method != http.MethodPost:
		return refuse(odata.InvalidInput)
	case c.asksTooMuch():
		return refuse(odata.NotImplemented)
	case c.Method == http.MethodPost && !a.isEntity:
		return c.insert(a, now)
	case !a.isEntity || c.Method == http.MethodPost:
		return refuse(errMethodNotAllowed)
	case c.Method == http.MethodGet:
		return c.get(a)
	case c.Method == http.MethodPut:
		return c.update(a, now, false)
	case c.Method == http.MethodPatch, c.Method == "MERGE":
		return c.update(a, now, true)
	case c.Method == http.MethodDelete:
		return c.delete(a)
	}
	return refuse(errMethodNotAllowed)
}

// asksTooMuch reports whether the call has a condition of a write although it is a read or an
// insert, or a parameter of a query although it reads one entity.
func (c *call) asksTooMuch() bool {
	if c.Method != http.MethodGet && c.Method != http.MethodPost {
		return false
	}
	if c.Get("If-Match") != "" || c.Get("If-None-Match") != "" {
		return true
	}
	for name := range c.Query {
		if strings.HasPrefix(name, "$") && name != "$select" && name != "$format" {
			return true
		}
	}
	return false
}

// get returns an entity.
func (c *call) get(a address) *response {
	t := c.store.table(a.resource)
	if t == nil {
		return refuse(errTableNotFound)
	}
	if f := c.options.checkKeys(a.pk, a.rk); f != nil {
		return refuse(f)
	}
	if f := c.permits("r"); f != nil {
		return refuse(f)
	}
	e := t.get(a.pk, a.rk)
	if e == nil || !c.grant.covers(a.pk, a.rk) {
		return refuse(errNotFound)
	}
	selected, f := parseSelection(c.Query.Get("$select"))
	if f != nil {
		return refuse(f)
	}
	return &response{
		status: http.StatusOK, etag: e.etag, dataVersion: dataVersion3,
		body: c.entityJSON(e, a.resource, selected), contentType: c.level.ContentType(),
	}
}

// insert inserts an entity.
func (c *call) insert(a address, now time.Time) *response {
	t := c.store.table(a.resource)
	if t == nil {
		return refuse(errTableNotFound)
	}
	body, f := c.entity()
	switch {
	case f != nil:
		return refuse(f)
	case body.PartitionKey == nil || body.RowKey == nil:
		return refuse(errMissingKeys)
	}
	e := &entity{pk: *body.PartitionKey, rk: *body.RowKey, properties: body.Properties}
	if f := c.options.checkKeys(e.pk, e.rk); f != nil {
		return refuse(f)
	}
	if f := e.check(); f != nil {
		return refuse(f)
	}
	f = c.permits("a")
	switch {
	case f != nil:
		return refuse(f)
	case !c.grant.covers(e.pk, e.rk):
		return refuse(errAuthorization)
	case t.get(e.pk, e.rk) != nil:
		return refuse(errEntityExists)
	}
	e.setTimestamp(t.nextTimestamp(now, nil))
	c.store.put(t, e.pk, e.rk, e)
	r := c.created(c.Base+"/"+a.resource+formatKeys(e.pk, e.rk), func() []byte { return c.entityJSON(e, a.resource, nil) })
	r.etag, r.dataVersion = e.etag, dataVersion3
	return r
}

// created returns the response to an insert, with or without the content that was created, as the
// client prefers.
func (c *call) created(location string, content func() []byte) *response {
	r := &response{status: http.StatusCreated, preference: c.preference(), location: location}
	if r.preference == "return-no-content" {
		r.status, r.serviceID = http.StatusNoContent, true
	} else {
		r.body, r.contentType = content(), c.level.ContentType()
	}
	return r
}

// update replaces an entity or merges with it. With If-Match the entity must exist. The keys in the
// address count, and not the keys in the body.
func (c *call) update(a address, now time.Time, merge bool) *response {
	t := c.store.table(a.resource)
	if t == nil {
		return refuse(errTableNotFound)
	}
	body, f := c.entity()
	if f == nil {
		f = c.options.checkKeys(a.pk, a.rk)
	}
	if f != nil {
		return refuse(f)
	}
	match := c.Get("If-Match")
	needed := "u"
	if match == "" {
		needed = "au"
	}
	f = c.permits(needed)
	switch {
	case f != nil:
		return refuse(f)
	case !c.grant.covers(a.pk, a.rk):
		return refuse(errAuthorization)
	}
	old := t.get(a.pk, a.rk)
	if match != "" {
		if f := checkCondition(old, match); f != nil {
			return refuse(f)
		}
	}
	e := &entity{pk: a.pk, rk: a.rk, properties: body.Properties}
	if merge && old != nil {
		e.merge(old)
	}
	if f := e.check(); f != nil {
		return refuse(f)
	}
	e.sort()
	e.setTimestamp(t.nextTimestamp(now, old))
	c.store.put(t, e.pk, e.rk, e)
	r := &response{status: http.StatusNoContent, etag: e.etag, dataVersion: dataVersion1, preference: c.preference()}
	if r.preference != "" {
		r.dataVersion = dataVersion3
	}
	return r
}

// delete deletes an entity.
func (c *call) delete(a address) *response {
	t := c.store.table(a.resource)
	match := c.Get("If-Match")
	if match == "" && c.options.Lenient {
		match = "*"
	}
	switch {
	case t == nil:
		return refuse(errTableNotFound)
	case match == "":
		return refuse(odata.MissingHeader)
	case !c.grant.covers(a.pk, a.rk):
		return refuse(errAuthorization)
	}
	if f := c.permits("d"); f != nil {
		return refuse(f)
	}
	if f := c.options.checkKeys(a.pk, a.rk); f != nil {
		return refuse(f)
	}
	if f := checkCondition(t.get(a.pk, a.rk), match); f != nil {
		return refuse(f)
	}
	c.store.put(t, a.pk, a.rk, nil)
	return &response{status: http.StatusNoContent, dataVersion: dataVersion1}
}

var (
	etagForm    = regexp.MustCompile(`^(W/)?"[^"]*"$`)
	ownETagForm = regexp.MustCompile(`^W/"datetime'[^']+'"$`)
)

// checkCondition compares an entity with an If-Match header.
func checkCondition(e *entity, match string) *odata.Failure {
	switch {
	case match != "*" && !etagForm.MatchString(match):
		return odata.InvalidInput.WithText("The etag value '%s' specified in one of the request headers is not valid. Please make sure only one etag value is specified and is valid.", match)
	case e == nil:
		return errNotFound
	case match != "*" && !ownETagForm.MatchString(match):
		return errOtherETag
	case match != "*" && match != e.etag:
		return errConditionNotMet
	}
	return nil
}

// writeEntity writes an entity as an element of a list.
func (c *call) writeEntity(w *odata.Writer, e *entity, table string, selected *selection) {
	c.write(w, e, table, selected, false)
}

// entityJSON returns an entity as the body of a response, with the address of its metadata.
func (c *call) entityJSON(e *entity, table string, selected *selection) []byte {
	var w odata.Writer
	c.write(&w, e, table, selected, true)
	return w.Bytes()
}

func (c *call) write(w *odata.Writer, e *entity, table string, selected *selection, isBody bool) {
	w.Open()
	if c.level != odata.NoMetadata && isBody {
		w.Member("odata.metadata", c.Base+"/$metadata#"+table+"/@Element"+selected.String())
	}
	switch c.level {
	case odata.FullMetadata:
		id := table + formatKeys(e.pk, e.rk)
		w.Member("odata.type", c.Account.Name+"."+table)
		w.Member("odata.id", c.Base+"/"+id)
		w.Member("odata.etag", e.etag)
		w.Member("odata.editLink", id)
	case odata.MinimalMetadata:
		w.Member("odata.etag", e.etag)
	}
	timestampLevel := odata.NoMetadata // the type of the Timestamp is well known
	if c.level == odata.FullMetadata {
		timestampLevel = odata.FullMetadata
	}
	if selected.has("PartitionKey") {
		w.Member("PartitionKey", e.pk)
	}
	if selected.has("RowKey") {
		w.Member("RowKey", e.rk)
	}
	if selected.has("Timestamp") {
		w.Property(odata.Property{Name: "Timestamp", Type: odata.DateTime, Value: e.timestamp}, timestampLevel)
	}
	if selected == nil {
		for _, p := range e.properties {
			w.Property(p, c.level)
		}
		w.Close()
		return
	}
	for _, name := range slices.Sorted(maps.Keys(selected.set)) {
		switch p, ok := e.Property(name); {
		case name == "PartitionKey" || name == "RowKey" || name == "Timestamp": // above
		case ok:
			w.Property(p, c.level)
		default:
			w.Key(name)
			w.WriteString("null")
		}
	}
	w.Close()
}
