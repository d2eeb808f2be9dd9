package tables

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
)

// Service is the Table service of an account. It implements protocol.Service.
type Service struct {
	store    store
	settings settings.Settings
	options  Options
}

// New returns a service without tables.
func New(o Options) *Service { return &Service{store: newStore(), options: o} }

// Receive implements protocol.Service.
func (s *Service) Receive(r *protocol.Request, now time.Time) protocol.Call {
	c := &call{Request: r, store: &s.store, settings: &s.settings, options: &s.options, level: odata.MinimalMetadata}
	c.refusal = c.readHead(now)
	return c
}

// readHead authenticates the request and reads its header.
func (c *call) readHead(now time.Time) (f *odata.Failure) {
	switch {
	case c.OtherAccount:
		return errAuthentication
	case c.BadQuery:
		return odata.QuerySyntax
	case c.Chunked:
		return errMissingLength
	case settings.IsPreflight(c.Request):
		return nil // without a signature
	}
	a, _ := c.address()
	if c.grant, f = authenticate(c.Request, a.resource, now); f != nil {
		return f
	}
	c.tunnel()
	switch {
	case c.Version != "" && !protocol.IsVersion(c.Version) && !c.options.Lenient:
		return errHeader
	case c.Version == "":
		return odata.UnknownMediaType
	case len(c.Body) > maxTransactionSize:
		return errBodyTooLarge
	case c.Query.Has("comp"):
		return nil // XML
	case c.Version < versionJSON:
		return odata.UnknownMediaType
	case a.resource == batchResource:
		return nil
	}
	c.level, f = odata.ChooseLevel(c.Header.Get("Accept"), c.Query)
	return f
}

// versionJSON is the first version with JSON.
const versionJSON = "2013-08-15"

// Entity is a stored entity.
type Entity struct {
	PartitionKey, RowKey string
	ETag                 string
	Timestamp            time.Time
	Properties           []odata.Property
}

// Entities returns the entities of a table in order. The caller holds the account's lock.
func (s *Service) Entities(name string) []Entity {
	t := s.store.table(name)
	if t == nil {
		return nil
	}
	var all []Entity
	for p := range t.partitions.startingAt("") {
		for e := range p.entities.startingAt("") {
			properties := slices.Clone(e.properties)
			for i, p := range properties {
				if b, ok := p.Value.([]byte); ok {
					properties[i].Value = bytes.Clone(b)
				}
			}
			all = append(all, Entity{e.pk, e.rk, e.etag, e.timestamp, properties})
		}
	}
	return all
}

// Tables returns the names of the tables in order. The caller holds the account's lock.
func (s *Service) Tables() []string {
	var names []string
	for _, t := range s.store.tables {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return names
}

// Options of a service.
type Options struct {
	NameReuseDelay time.Duration // the time before the name of a deleted table can be used again
	Lenient        bool          // requests are executed that only the documentation forbids
}

// call is a request, or one operation of a transaction.
type call struct {
	*protocol.Request
	store    *store
	settings *settings.Settings
	options  *Options

	level   odata.Level
	grant   *grant         // the rights of a shared access signature; nil: all rights
	now     time.Time      // of the execution
	refusal *odata.Failure // why the head of the request, or the operation, is invalid

	parsed parsedAddress // the path
	body   parsedBody    // the body as an entity

	operations       []*call // the operations of a transaction, once parsed
	operationsParsed bool
	inTransaction    bool
	changeSet        bool // the operations are a change set; otherwise the transaction is a single GET
}

// parsedAddress is the result of parsing the path, once it is done.
type parsedAddress struct {
	done bool
	address
	failure *odata.Failure
}

// parsedBody is the result of parsing the body of a write, once it is done.
type parsedBody struct {
	done    bool
	entity  odata.Entity
	failure *odata.Failure
}

// tunnel replaces the method of a POST by the method that X-HTTP-Method names, for clients whose
// proxies allow few methods.
func (c *call) tunnel() {
	if c.Method != http.MethodPost {
		return
	}
	switch method := c.Get("X-Http-Method"); method {
	case http.MethodGet, http.MethodPut, http.MethodPatch, "MERGE", http.MethodDelete:
		c.Method = method
	}
}

// Accepted implements protocol.Call.
func (c *call) Accepted() bool { return c.refusal == nil }

// address parses the path.
func (c *call) address() (address, *odata.Failure) {
	if !c.parsed.done {
		a, f := parseAddress(c.Path)
		c.parsed = parsedAddress{true, a, f}
	}
	return c.parsed.address, c.parsed.failure
}

// entity parses the body of a write. A call may be executed twice: the caller may sort the
// properties and append to them.
func (c *call) entity() (odata.Entity, *odata.Failure) {
	b := c.parsedBody()
	e := b.entity
	e.Properties = slices.Clip(e.Properties)
	return e, b.failure
}

func (c *call) parsedBody() *parsedBody {
	if !c.body.done {
		c.body.done = true
		if odata.IsJSON(c.Get("Content-Type")) {
			c.body.entity, c.body.failure = odata.ParseEntity(c.Body)
		} else {
			c.body.failure = odata.UnknownMediaType
		}
	}
	return &c.body
}

// entityAddress returns the address of the entity that the call addresses, or that it inserts.
func (c *call) entityAddress() (a address, f *odata.Failure) {
	a, f = c.address()
	if f != nil || a.isEntity {
		return a, f
	}
	if c.Method != http.MethodPost {
		return a, odata.InvalidInput
	}
	b := c.parsedBody()
	switch {
	case b.failure != nil:
		return a, b.failure
	case b.entity.PartitionKey == nil || b.entity.RowKey == nil:
		return a, errMissingKeys
	}
	a.pk, a.rk = *b.entity.PartitionKey, *b.entity.RowKey
	return a, nil
}

// parseOperations parses the body as a transaction and sets operations and changeSet.
func (c *call) parseOperations() *odata.Failure {
	if c.operationsParsed {
		return nil
	}
	b, f := odata.ParseBatch(c.Get("Content-Type"), c.Body, c.Base)
	if f != nil {
		return f
	}
	c.operationsParsed, c.changeSet = true, b.ChangeSet
	calls, operations := make([]call, len(b.Operations)), make([]protocol.Request, len(b.Operations))
	c.operations = make([]*call, 0, len(calls))
	for i, o := range b.Operations {
		op := &calls[i]
		operations[i] = protocol.Request{Method: o.Method, Path: o.Path, Query: o.Query, Fields: o.Header, Body: o.Body, Account: c.Account, Base: c.Base, Version: c.Version, ID: c.ID}
		*op = call{Request: &operations[i], store: c.store, settings: c.settings, options: c.options, grant: c.grant, inTransaction: true}
		op.tunnel()
		if o.BadQuery {
			op.refusal = odata.QuerySyntax
		}
		if op.level, f = odata.ChooseLevel(op.Get("Accept"), o.Query); f != nil {
			op.refusal = f
		}
		c.operations = append(c.operations, op)
	}
	return nil
}

// preference returns what an insert prefers: "return-content", "return-no-content" or "".
func (c *call) preference() string {
	switch p := strings.TrimSpace(c.Get("Prefer")); p {
	case "return-content", "return-no-content":
		return p
	}
	return ""
}

// Execute implements protocol.Call.
func (c *call) Execute(now time.Time, in protocol.Injection) *protocol.Response {
	var r *response
	c.now = now
	if c.refusal != nil {
		r = refuse(c.refusal)
	} else if r = c.execute(now, in); r.failure != nil {
		c.store.rollback()
	}
	c.store.commit()
	return r.toProtocol(c, now)
}

// Fail implements protocol.Call.
func (c *call) Fail(f protocol.Failure, now time.Time) *protocol.Response {
	return refuse(&odata.Failure{Failure: f}).toProtocol(c, now)
}

func (c *call) execute(now time.Time, in protocol.Injection) *response {
	a, f := c.address()
	switch {
	case settings.IsPreflight(c.Request):
		return c.preflight()
	case c.valid() != nil:
		return refuse(c.valid())
	case f != nil:
		return refuse(f)
	case a.resource == batchResource && c.Method == http.MethodPost:
		return c.executeTransaction(now, in)
	case a.resource == batchResource:
		return refuse(errMethodNotAllowed)
	case c.Query.Get("comp") == "acl":
		return c.accessPolicies(a)
	case a.resource == "" && settings.WantsStatistics(c.Request):
		return c.statistics()
	case a.resource == "" && c.Query.Get("restype") == "service" && c.Query.Get("comp") == "properties":
		return c.properties()
	case a.resource == "", c.Query.Has("comp"), c.Query.Has("restype"):
		return refuse(odata.NotImplemented)
	case a.resource == tablesResource:
		return c.tableOperation(a, now)
	case c.Method == http.MethodGet && !a.isEntity:
		return c.query(a, in)
	}
	return c.entityOperation(a, now)
}

// Describe implements protocol.Call.
func (c *call) Describe(withBody bool) protocol.Description {
	a, f := c.address()
	d := protocol.Description{Kind: c.kind(a, f), Table: a.resource, PartitionKey: a.pk, RowKey: a.rk}
	if !withBody || c.inTransaction && d.Kind == requests.Transaction {
		return d
	}
	switch d.Kind {
	case kinds.TableCreate, kinds.TableDelete, kinds.TableQuery:
		d.Table = a.tableName
		if d.Kind == kinds.TableCreate {
			if members, ok := odata.ParseObject(c.Body); ok && len(members) == 1 {
				d.Table, _ = members[0].Value.(string)
			}
		}
	case requests.Insert:
		if a, f := c.entityAddress(); f == nil {
			d.PartitionKey, d.RowKey = a.pk, a.rk
		}
	case requests.Query:
		c.describeFilter(&d)
	case requests.Transaction:
		c.describeOperations(&d)
	}
	return d
}

// describeFilter adds the keys that the filter of a query names.
func (c *call) describeFilter(d *protocol.Description) {
	filter, f := odata.ParseFilter(c.Query.Get("$filter"))
	if f != nil {
		return
	}
	if keys := filter.KeyRange("PartitionKey"); keys.Single() {
		d.PartitionKey = keys.From
	}
	if keys := filter.KeyRange("RowKey"); keys.Single() {
		d.RowKey = keys.From
	}
}

// describeOperations adds the operations of a transaction.
func (c *call) describeOperations(d *protocol.Description) {
	d.Table = ""
	if f := c.parseOperations(); f != nil {
		return
	}
	d.Operations = make([]protocol.Description, 0, len(c.operations))
	for _, op := range c.operations {
		d.Operations = append(d.Operations, op.Describe(true))
	}
	if len(c.operations) > 0 {
		d.Table = d.Operations[0].Table
	}
}

// kind returns the kind of the request.
func (c *call) kind(a address, f *odata.Failure) requests.Kind {
	conditional := c.Get("If-Match") != ""
	switch {
	case f != nil || settings.IsPreflight(c.Request) || a.resource == "" || c.Query.Has("comp") || c.Query.Has("restype"):
		return kinds.Other
	case a.resource == batchResource:
		return requests.Transaction
	case a.resource == tablesResource:
		switch c.Method {
		case http.MethodPost:
			return kinds.TableCreate
		case http.MethodDelete:
			return kinds.TableDelete
		}
		return kinds.TableQuery
	}
	switch c.Method {
	case http.MethodGet:
		if a.isEntity {
			return requests.Get
		}
		return requests.Query
	case http.MethodPost:
		return requests.Insert
	case http.MethodDelete:
		return requests.Delete
	case http.MethodPut:
		if conditional {
			return requests.Replace
		}
		return kinds.InsertOrReplace
	case http.MethodPatch, "MERGE":
		if conditional {
			return requests.Merge
		}
		return kinds.InsertOrMerge
	}
	return kinds.Other
}

// The names of resources that are not tables.
const (
	tablesResource = "Tables" // the tables of the account
	batchResource  = "$batch"
)

// address is what a path addresses: the account, a table, an entity, a batch.
type address struct {
	resource  string // a table's name, tablesResource, batchResource, or "" for the account
	tableName string // the name in Tables('name')
	pk, rk    string
	isEntity  bool // the path has keys
}

// parseAddress parses a path: Tables, Tables('staff'), staff, staff(),
// staff(PartitionKey='a',RowKey='b'), $batch.
func parseAddress(path string) (a address, f *odata.Failure) {
	path, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
	if err != nil {
		return a, odata.QuerySyntax
	}
	name, args, hasArgs := strings.Cut(path, "(")
	a.resource = name
	if strings.Contains(name, "/") || !utf8.ValidString(path) {
		return a, odata.QuerySyntax
	}
	if !hasArgs {
		return a, nil
	}
	args, closed := strings.CutSuffix(args, ")")
	switch {
	case !closed:
		return a, odata.QuerySyntax
	case args == "":
		return a, nil
	}
	if name == "" {
		return a, errNotFound
	}
	if name == tablesResource {
		rest, ok := "", false
		if a.tableName, rest, ok = odata.CutQuoted(args); !ok || rest != "" {
			f = odata.QuerySyntax
		}
		return a, f
	}
	a.isEntity = true
	f = a.parseKeys(args)
	return a, f
}

// parseKeys parses PartitionKey='a',RowKey='b', in any order.
func (a *address) parseKeys(args string) *odata.Failure {
	var hasPartition, hasRow bool
	for rest, more := args, true; more; {
		name, value, ok := strings.Cut(rest, "=")
		name = strings.TrimSpace(name)
		key, has := &a.pk, &hasPartition
		if name == "RowKey" {
			key, has = &a.rk, &hasRow
		}
		if !ok || *has || name != "PartitionKey" && name != "RowKey" {
			return odata.QuerySyntax
		}
		*has = true
		var text string
		if text, rest, ok = odata.CutQuoted(value); !ok {
			return odata.QuerySyntax
		}
		if rest = strings.TrimSpace(rest); rest != "" && rest[0] != ',' && strings.HasSuffix(rest, "'") {
			return odata.QuerySyntax.WithText("There is an unterminated string literal at position %d in '%s'.", len(args), args)
		}
		*key = text
		if rest, more = strings.CutPrefix(rest, ","); !more && rest != "" {
			return odata.QuerySyntax
		}
	}
	if !hasPartition || !hasRow || strings.Contains(a.pk, "/") || strings.Contains(a.rk, "/") {
		return odata.QuerySyntax
	}
	return nil
}

// formatKeys formats keys as the service does in addresses: with doubled quotes, and
// percent-encoded.
func formatKeys(pk, rk string) string {
	return "(PartitionKey='" + escapeKey(pk) + "',RowKey='" + escapeKey(rk) + "')"
}

func escapeKey(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'':
			b.WriteString("''")
		case c <= ' ' || c >= 0x7F || strings.IndexByte("\"%<>\\^`{|}#?/", c) >= 0:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
