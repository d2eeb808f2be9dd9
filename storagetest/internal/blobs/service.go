package blobs

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// Service is the Blob service of an account. It implements protocol.Service.
type Service struct {
	store    store
	settings settings.Settings
	options  Options
}

// New returns a service without containers.
func New(o Options) *Service {
	return &Service{store: newStore(), settings: settings.Settings{OfBlobs: true}, options: o}
}

// Receive implements protocol.Service.
func (s *Service) Receive(r *protocol.Request, now time.Time) protocol.Call {
	c := &call{Request: r, store: &s.store, settings: &s.settings, options: &s.options}
	c.rights, c.refusal = xmlform.Check(r, now, func() (*access.Rights, *protocol.Failure) { return verify(r) })
	if c.refusal == xmlform.ErrAuthentication && !r.OtherAccount && r.Header.Get("Authorization") == "" && r.Version >= versionChallenge {
		c.refusal = errNoAuthentication
	}
	return c
}

// versionChallenge is the first version whose response to a request without a signature says how to
// authenticate.
const versionChallenge = "2019-12-12"

// Blob is a stored blob.
type Blob struct {
	Name, Type, ContentType, ETag string
	Blocks                        [][]byte
	Metadata                      map[string]string
	Created, Modified             time.Time
}

// Blobs returns the blobs of a container in the order of their names, without blobs that have
// uncommitted blocks only. The blocks are not copies. The caller holds the account's lock.
func (s *Service) Blobs(name string) []Blob {
	c := s.store.containers[name]
	if c == nil {
		return nil
	}
	var all []Blob
	for _, name := range slices.Sorted(maps.Keys(c.blobs)) {
		b := c.blobs[name]
		if !b.exists() {
			continue
		}
		metadata := map[string]string{}
		for _, m := range b.metadata {
			metadata[m.Name] = m.Value
		}
		all = append(all, Blob{b.name, b.kind, b.contentType(), b.etag, slices.Clone(b.content.blocks), metadata, b.created, b.modified})
	}
	return all
}

// Containers returns the names of the containers in order. The caller holds the account's lock.
func (s *Service) Containers() []string { return slices.Sorted(maps.Keys(s.store.containers)) }

// Options of a Blob service.
type Options struct {
	NameReuseDelay time.Duration // before the name of a deleted container can be used again
}

// call is a request to the Blob service.
type call struct {
	*protocol.Request
	store    *store
	settings *settings.Settings
	options  *Options
	rights   *access.Rights   // of a shared access signature; nil: all rights
	refusal  *xmlform.Failure // why the head of the request is invalid
}

// Accepted implements protocol.Call.
func (c *call) Accepted() bool { return c.refusal == nil }

// reads reports whether the call changes nothing.
func (c *call) reads() bool { return c.Method == http.MethodGet || c.Method == http.MethodHead }

// challenge says how a user can be authenticated.
const challenge = "Bearer authorization_uri=https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/oauth2/authorize resource_id=https://storage.azure.com"

// respond completes a response.
func (c *call) respond(r *xmlform.Response, now time.Time) *protocol.Response {
	out := r.ToProtocol(c.Request, "Windows-Azure-Blob/1.0", now)
	if r.Failure == errNoAuthentication {
		out.Header.Set("WWW-Authenticate", challenge)
	}
	maps.Copy(out.Header, c.settings.Header(c.Request))
	return out
}

// Execute implements protocol.Call.
func (c *call) Execute(now time.Time, in protocol.Injection) *protocol.Response {
	if c.refusal != nil {
		return c.respond(xmlform.Refuse(c.refusal), now)
	}
	return c.respond(c.execute(now, in), now)
}

// Fail implements protocol.Call.
func (c *call) Fail(f protocol.Failure, now time.Time) *protocol.Response {
	return c.respond(xmlform.Refuse(&xmlform.Failure{Failure: f}), now)
}

// execute executes the call. Each operation checks the whole call before its first change, so no
// change is rolled back.
func (c *call) execute(now time.Time, in protocol.Injection) *xmlform.Response {
	a, f := parseAddress(c.Path, c.Query)
	kind := c.kind(a, f)
	switch {
	case settings.IsPreflight(c.Request):
		return xmlform.Preflight(c.settings, c.Request)
	case c.valid(a, now) != nil:
		return xmlform.Refuse(c.valid(a, now))
	case f != nil:
		return xmlform.Refuse(f)
	case a == address{} && settings.WantsStatistics(c.Request):
		return xmlform.Statistics(c.Request, c.rights, now)
	case a == address{} && c.Query.Get("restype") == "service" && c.Query.Get("comp") == "properties":
		return xmlform.Properties(c.settings, c.Request, c.rights, now)
	case c.Query.Get("restype") == "account" && c.Query.Get("comp") == "properties":
		return c.accountInformation(now)
	case c.asksForMore():
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	case c.Query.Get("comp") == "acl" && c.Query.Get("restype") == "container" && a.container != "":
		return c.accessPolicies(c.store.containers[a.container], now)
	case a == address{} && c.Query.Get("restype") == "container":
		return xmlform.Refuse(xmlform.InvalidParameter("comp", c.Query.Get("comp"), ""))
	case kind == kinds.Other && (len(c.Query) > 0 || a == address{}):
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	case kind == kinds.Other:
		return xmlform.Refuse(xmlform.ErrMethod)
	}
	if f := c.permits(a, kind, now); f != nil {
		return xmlform.Refuse(f)
	}
	if kind == kinds.ContainerList {
		return c.listContainers(now, in.PageLimit)
	}
	if f := checkContainerName(a.container); f != nil {
		return xmlform.Refuse(f)
	}
	if kind == kinds.ContainerCreate {
		return c.createContainer(a.container, now)
	}
	target := c.store.containers[a.container]
	if target == nil && kind == kinds.ContainerDelete && c.beingDeleted(a.container, now) {
		return &xmlform.Response{Status: http.StatusAccepted} // as the live service responds to a second deletion
	}
	if target == nil {
		return xmlform.Refuse(errContainerNotFound)
	}
	if a.blob == "" {
		return c.executeOnContainer(kind, target, now, in.PageLimit)
	}
	if f := checkBlobName(a.blob); f != nil {
		return xmlform.Refuse(f)
	}
	return c.executeOnBlob(kind, target, a.blob, now)
}

// asksForMore reports whether the request has a header that no operation applies.
func (c *call) asksForMore() bool {
	for name := range c.Header {
		if headersNotApplied[name] && c.Header.Get(name) != "" {
			return true
		}
	}
	return false
}

// executeOnContainer executes a call to an existing container.
func (c *call) executeOnContainer(kind requests.Kind, target *container, now time.Time, pageLimit *int) *xmlform.Response {
	switch kind {
	case kinds.ContainerDelete:
		return c.deleteContainer(target, now)
	case kinds.ContainerGet:
		return c.containerProperties(target, now)
	case kinds.ContainerSet:
		return c.setContainerMetadata(target, now)
	case kinds.ContainerLease:
		return c.changeLease(&target.lease, target.etag, target.modified, now, containerLease)
	default: // kinds.BlobList
		return c.listBlobs(target, now, pageLimit)
	}
}

// executeOnBlob executes a call to a blob, which may not exist.
func (c *call) executeOnBlob(kind requests.Kind, parent *container, name string, now time.Time) *xmlform.Response {
	b := parent.lookup(name, now)
	if kind == kinds.BlobCreate {
		switch how := c.use(); {
		case c.Query.Get("comp") == "copy":
			return c.abortCopy(b, now)
		case how == putContent:
			return c.putFromURL(parent, name, b, now)
		case how != noSource:
			return c.copyBlob(parent, name, b, now)
		}
	}
	c, f := c.content(kind, now)
	switch {
	case f != nil:
		return xmlform.Refuse(f)
	case kind == kinds.BlobCreate:
		return c.createBlob(parent, name, b, &blob{}, now)
	case kind == kinds.BlobStage:
		return c.putBlock(parent, name, b, now)
	case kind == kinds.BlobCommit:
		return c.commitBlocks(parent, name, b, now)
	case b == nil, !b.exists() && kind != kinds.BlobBlocks && kind != kinds.BlobLease:
		return xmlform.Refuse(errBlobNotFound)
	}
	switch kind {
	case kinds.BlobBlocks:
		return c.getBlockList(b, now)
	case kinds.BlobAppend:
		return c.appendBlock(b, now)
	case kinds.BlobGet:
		return c.override(c.structured(c.getBlob(b, now)))
	case kinds.BlobProperties:
		return c.override(c.blobProperties(b, now))
	case kinds.BlobSetMetadata:
		return c.setBlobMetadata(b, now)
	case kinds.BlobSetHeaders:
		return c.setBlobHeaders(b, now)
	case kinds.BlobDelete:
		return c.deleteBlob(parent, b, now)
	default: // kinds.BlobLease
		return c.changeLease(&b.lease, b.etag, b.modified, now, blobLease)
	}
}

// content returns the call with the content that it writes as its body: that of its source, or of a
// structured message.
func (c *call) content(kind requests.Kind, now time.Time) (*call, *xmlform.Failure) {
	form := c.Header.Get(structuredBody)
	switch kind {
	case kinds.BlobCreate, kinds.BlobAppend, kinds.BlobStage:
	case kinds.BlobGet:
		return c, nil
	default:
		if form != "" {
			return c, xmlform.ErrNotImplemented
		}
		return c, nil
	}
	switch {
	case c.use() != noSource:
		filled, _, f := c.fromSource(now)
		return filled, f
	case form != "":
		return c.plainBody()
	}
	return c, nil
}

// Describe implements protocol.Call.
func (c *call) Describe(bool) protocol.Description {
	a, f := parseAddress(c.Path, c.Query)
	return protocol.Description{Kind: c.kind(a, f), Container: a.container, Blob: a.blob}
}

// kind returns the kind of the request.
func (c *call) kind(a address, f *xmlform.Failure) requests.Kind {
	method := c.Method
	if c.Query.Has("comp") {
		method += " " + c.Query.Get("comp")
	}
	known := blobKinds
	switch {
	case f != nil || slices.ContainsFunc(parametersNotApplied, c.Query.Has):
		return kinds.Other
	case a.container == "":
		known = accountKinds
	case c.Query.Get("restype") == "container":
		known = containerKinds
	case c.Query.Has("restype") || a.blob == "":
		return kinds.Other
	}
	return cmp.Or(known[method], kinds.Other)
}

// headersNotApplied are the headers that change the meaning of a request, and that no operation
// applies.
var headersNotApplied = canonical(
	"x-ms-if-tags", "x-ms-source-if-tags", "x-ms-tags", "x-ms-copy-source-tag-option",
	"x-ms-access-tier", "x-ms-access-tier-if-modified-since", "x-ms-access-tier-if-unmodified-since", "x-ms-rehydrate-priority",
	"x-ms-encryption-key", "x-ms-encryption-key-sha256", "x-ms-encryption-algorithm", "x-ms-encryption-scope",
	"x-ms-source-encryption-key", "x-ms-source-encryption-key-sha256", "x-ms-source-encryption-algorithm",
	"x-ms-default-encryption-scope", "x-ms-deny-encryption-scope-override",
	"x-ms-immutability-policy-mode", "x-ms-immutability-policy-until-date", "x-ms-legal-hold", "x-ms-seal-blob",
	"x-ms-copy-source-authorization", "x-ms-source-lease-id", "x-ms-previous-snapshot-url",
	"x-ms-blob-content-length", "x-ms-blob-sequence-number", "x-ms-sequence-number-action", "x-ms-page-write",
)

// canonical returns the names of headers as a request has them.
func canonical(names ...string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[http.CanonicalHeaderKey(name)] = true
	}
	return all
}

// parametersNotApplied are the parameters of a query that change the meaning of a request, and that
// no operation applies.
var parametersNotApplied = []string{"snapshot", "versionid", "deletetype", "showonly"}

// The kinds of requests by their methods and the parameter comp.
var (
	accountKinds = map[string]requests.Kind{"GET list": kinds.ContainerList}

	containerKinds = map[string]requests.Kind{
		http.MethodPut: kinds.ContainerCreate, http.MethodDelete: kinds.ContainerDelete, http.MethodGet: kinds.ContainerGet,
		http.MethodHead: kinds.ContainerGet, "GET metadata": kinds.ContainerGet, "HEAD metadata": kinds.ContainerGet,
		"PUT metadata": kinds.ContainerSet, "PUT lease": kinds.ContainerLease, "GET list": kinds.BlobList,
	}

	blobKinds = map[string]requests.Kind{
		http.MethodPut: kinds.BlobCreate, "PUT copy": kinds.BlobCreate, "PUT appendblock": kinds.BlobAppend,
		"PUT block": kinds.BlobStage, "PUT blocklist": kinds.BlobCommit, "GET blocklist": kinds.BlobBlocks, http.MethodGet: kinds.BlobGet,
		http.MethodHead: kinds.BlobProperties, "GET metadata": kinds.BlobProperties, "HEAD metadata": kinds.BlobProperties,
		"PUT metadata": kinds.BlobSetMetadata, "PUT properties": kinds.BlobSetHeaders, http.MethodDelete: kinds.BlobDelete,
		"PUT lease": kinds.BlobLease,
	}
)

// rootContainer contains the blobs whose address has no container.
const rootContainer = "$root"

// address is what a path addresses: the account, a container, or a blob.
type address struct{ container, blob string }

// parseAddress parses a path: /, /logs, /logs/a/b.txt. A path of one segment is a container if the
// query says so, and otherwise a blob of the root container.
func parseAddress(path string, query url.Values) (a address, f *xmlform.Failure) {
	container, blob, nested := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	for _, s := range []*string{&container, &blob} {
		var err error
		if *s, err = url.PathUnescape(*s); err != nil {
			return a, xmlform.ErrURI
		}
	}
	blob = strings.ReplaceAll(blob, `\`, "/")
	switch {
	case query.Get("restype") == "container" && blob != "":
		return a, xmlform.ErrURI
	case container != "" && !nested && !query.Has("restype"):
		return address{rootContainer, container}, nil
	}
	return address{container, blob}, nil
}

// checkContainerName checks the name of a container.
func checkContainerName(name string) *xmlform.Failure {
	if name == rootContainer || name == "$web" || name == "$logs" {
		return nil
	}
	return xmlform.CheckName(name)
}

// The limits of a blob's name.
const (
	maxBlobName     = 1024 // in UTF-16 units
	maxBlobSegments = 254
)

// checkBlobName checks the name of a blob.
func checkBlobName(name string) *xmlform.Failure {
	if len(utf16.Encode([]rune(name))) > maxBlobName || strings.Count(name, "/") >= maxBlobSegments {
		return xmlform.ErrNameLength
	}
	return nil
}

// permissions are the letters of the permissions for a container or a blob, in their order.
const permissions = "racwdxyltfmeopi"

// needs are the rights that the operations need. An operation that is not listed cannot be
// permitted by a signature.
var needs = map[requests.Kind]access.Need{
	kinds.ContainerList:   {Type: "s", Permissions: []string{"l"}, Account: true},
	kinds.ContainerCreate: {Type: "c", Permissions: []string{"c", "w"}, Account: true},
	kinds.ContainerDelete: {Type: "c", Permissions: []string{"d"}, Account: true},
	kinds.ContainerGet:    {Type: "c", Permissions: []string{"r"}, Account: true},
	kinds.ContainerSet:    {Type: "c", Permissions: []string{"w"}, Account: true},
	kinds.ContainerLease:  {Type: "c", Permissions: []string{"w", "d"}, Account: true},
	kinds.BlobList:        {Type: "c", Permissions: []string{"l"}},
	kinds.BlobCreate:      {Type: "o", Permissions: []string{"c", "w"}},
	kinds.BlobAppend:      {Type: "o", Permissions: []string{"a", "w"}},
	kinds.BlobStage:       {Type: "o", Permissions: []string{"c", "w"}},
	kinds.BlobCommit:      {Type: "o", Permissions: []string{"c", "w"}},
	kinds.BlobBlocks:      {Type: "o", Permissions: []string{"r"}},
	kinds.BlobGet:         {Type: "o", Permissions: []string{"r"}},
	kinds.BlobProperties:  {Type: "o", Permissions: []string{"r"}},
	kinds.BlobSetMetadata: {Type: "o", Permissions: []string{"w"}},
	kinds.BlobSetHeaders:  {Type: "o", Permissions: []string{"w"}},
	kinds.BlobDelete:      {Type: "o", Permissions: []string{"d"}},
	kinds.BlobLease:       {Type: "o", Permissions: []string{"w", "d"}},
}

// verify checks a shared access signature for the account, for a container or for a blob.
func verify(r *protocol.Request) (*access.Rights, *protocol.Failure) {
	q := r.Query
	a, _ := parseAddress(r.Path, q)
	resource := "/" + a.container
	if q.Get("sr") == "b" {
		resource += "/" + a.blob
	}
	var more []string
	if version := q.Get("sv"); version >= "2018-11-09" {
		more = append(more, q.Get("sr"), q.Get("snapshot"))
		if version >= "2020-12-06" {
			more = append(more, q.Get("ses"))
		}
	}
	switch sr := q.Get("sr"); {
	case q.Has("skoid"), !q.Has("ss") && sr != "c" && sr != "b":
		return nil, &protocol.NotImplemented // a signature by a user, or for a snapshot or a version
	}
	for _, overriding := range []string{"rscc", "rscd", "rsce", "rscl", "rsct"} {
		more = append(more, q.Get(overriding))
	}
	return access.Verify(r, access.Of{Service: "blob", Resource: resource, Permissions: permissions, More: more})
}

// permits returns the failure of an operation that the rights of the caller do not permit. The
// permission to create does not permit to replace.
func (c *call) permits(a address, kind requests.Kind, now time.Time) *xmlform.Failure {
	if c.rights == nil {
		return nil
	}
	need := needs[kind]
	if target := c.store.containers[a.container]; target != nil {
		if (kind == kinds.BlobCreate || kind == kinds.BlobCommit) && target.lookup(a.blob, now).exists() {
			need.Permissions = []string{"w"}
		}
	}
	return xmlform.FailureOf(c.rights.Check(need, c.policies(a), now))
}

// valid returns the failure of a signature that is not valid at a time.
func (c *call) valid(a address, now time.Time) *xmlform.Failure {
	return xmlform.FailureOf(c.rights.Valid(c.policies(a), now))
}

// policies returns the stored access policies of the container that is addressed.
func (c *call) policies(a address) access.Policies {
	if target := c.store.containers[a.container]; target != nil {
		return target.policies
	}
	return nil
}

// accessPolicies reads or replaces the stored access policies of a container. There is no public
// access.
func (c *call) accessPolicies(target *container, now time.Time) *xmlform.Response {
	switch {
	case c.rights != nil:
		return xmlform.Refuse(&xmlform.Failure{Failure: access.Unauthorized})
	case target == nil:
		return xmlform.Refuse(errContainerNotFound)
	case c.Header.Get("x-ms-blob-public-access") != "":
		return xmlform.Refuse(errPublicAccess)
	case !c.reads() && c.Method != http.MethodPut:
		return xmlform.Refuse(xmlform.ErrMethod)
	}
	if f := c.checkContainer(target, now); f != nil {
		return xmlform.Refuse(f)
	}
	if c.reads() {
		return &xmlform.Response{Status: http.StatusOK, Header: target.header(), Body: target.policies.XML()}
	}
	policies, fault := access.ParsePolicies(c.Body, permissions)
	if fault != nil {
		return xmlform.Refuse(xmlform.InvalidDocument(*fault))
	}
	target.policies = policies
	c.store.touch(target, now)
	return &xmlform.Response{Status: http.StatusOK, Header: target.header()}
}

// overridden are the parameters of a signature for a blob that replace headers of responses.
var overridden = map[string]string{"rscc": "Cache-Control", "rscd": "Content-Disposition", "rsce": "Content-Encoding", "rscl": "Content-Language", "rsct": "Content-Type"}

// override replaces headers of the response to a read, as the signature says.
func (c *call) override(r *xmlform.Response) *xmlform.Response {
	if c.rights == nil || c.rights.IsAccount() || r.Failure != nil {
		return r
	}
	for parameter, name := range overridden {
		if value := c.Query.Get(parameter); value != "" {
			r.Header.Set(name, value)
		}
	}
	return r
}
