package tables

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// entityOperation executes a call that reads or writes one entity. The caller rolls back the changes of a failed call.
func (c *call) entityOperation(a address, now time.Time) *response {
	switch {
	case c.grant != nil && !c.grant.IsAccount() && strings.ToLower(a.resource) != c.grant.table:
		return refuse(errAuthorization)
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

// created returns the response to an insert, with or without the content that was created, as the client prefers.
func (c *call) created(location string, content func() []byte) *response {
	r := &response{status: http.StatusCreated, preference: c.preference(), location: location}
	if r.preference == "return-no-content" {
		r.status, r.serviceID = http.StatusNoContent, true
	} else {
		r.body, r.contentType = content(), c.level.ContentType()
	}
	return r
}

// update replaces an entity or merges with it. With If-Match the entity must exist. The keys in the address count, and not those in
// the body.
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

// etagForm matches an ETag of the service.
var etagForm = regexp.MustCompile(`^W/"datetime'[^']+'"$`)

// checkCondition compares an entity with an If-Match header.
func checkCondition(e *entity, match string) *odata.Failure {
	switch quoted := strings.TrimPrefix(match, "W/"); {
	case match != "*" && (len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"'):
		return odata.InvalidInput.WithText("The etag value '%s' specified in one of the request headers is not valid. Please make sure only one etag value is specified and is valid.", match)
	case e == nil:
		return errNotFound
	case match != "*" && !etagForm.MatchString(match):
		return errOtherETag
	case match != "*" && match != e.etag:
		return errConditionNotMet
	}
	return nil
}
