package blobs

import (
	"net/http"
	"time"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// needs are the rights that the operations need. An operation that is not listed cannot be permitted by a signature.
var needs = map[requests.Kind]access.Need{
	requests.ContainerList:   {Type: "s", Permissions: []string{"l"}, Account: true},
	requests.ContainerCreate: {Type: "c", Permissions: []string{"c", "w"}, Account: true},
	requests.ContainerDelete: {Type: "c", Permissions: []string{"d"}, Account: true},
	requests.ContainerGet:    {Type: "c", Permissions: []string{"r"}, Account: true},
	requests.ContainerSet:    {Type: "c", Permissions: []string{"w"}, Account: true},
	requests.ContainerLease:  {Type: "c", Permissions: []string{"w", "d"}, Account: true},
	requests.BlobList:        {Type: "c", Permissions: []string{"l"}},
	requests.BlobCreate:      {Type: "o", Permissions: []string{"c", "w"}},
	requests.BlobAppend:      {Type: "o", Permissions: []string{"a", "w"}},
	requests.BlobStage:       {Type: "o", Permissions: []string{"c", "w"}},
	requests.BlobCommit:      {Type: "o", Permissions: []string{"c", "w"}},
	requests.BlobBlocks:      {Type: "o", Permissions: []string{"r"}},
	requests.BlobGet:         {Type: "o", Permissions: []string{"r"}},
	requests.BlobProperties:  {Type: "o", Permissions: []string{"r"}},
	requests.BlobSetMetadata: {Type: "o", Permissions: []string{"w"}},
	requests.BlobSetHeaders:  {Type: "o", Permissions: []string{"w"}},
	requests.BlobDelete:      {Type: "o", Permissions: []string{"d"}},
	requests.BlobLease:       {Type: "o", Permissions: []string{"w", "d"}},
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
	return access.Verify(r, "blob", resource, append(more, q.Get("rscc"), q.Get("rscd"), q.Get("rsce"), q.Get("rscl"), q.Get("rsct"))...)
}

// permits returns the failure of an operation that the rights of the caller do not permit. The permission to create does not permit
// to replace.
func (c *call) permits(a address, kind requests.Kind, now time.Time) *xmlform.Failure {
	if c.rights == nil {
		return nil
	}
	need := needs[kind]
	if target := c.store.containers[a.container]; target != nil {
		if (kind == requests.BlobCreate || kind == requests.BlobCommit) && target.lookup(a.blob, now).exists() {
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

// accessPolicies reads or replaces the stored access policies of a container. There is no public access.
func (c *call) accessPolicies(target *container, now time.Time) *xmlform.Response {
	switch {
	case c.rights != nil:
		return xmlform.Refuse(&xmlform.Failure{Failure: access.Unauthorized})
	case target == nil:
		return xmlform.Refuse(errContainerNotFound)
	case c.Header.Get("x-ms-blob-public-access") != "":
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	case c.Method == http.MethodGet, c.Method == http.MethodHead:
		return &xmlform.Response{Status: http.StatusOK, Header: target.header(), Body: target.policies.XML()}
	case c.Method != http.MethodPut:
		return xmlform.Refuse(xmlform.ErrMethod)
	}
	if f := c.checkContainer(target, now); f != nil {
		return xmlform.Refuse(f)
	}
	policies, fault := access.ParsePolicies(c.Body, "racwdxyltmeopi")
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
