package blobs

import (
	"net/http"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// maxMetadata is the maximum length of the names and values of metadata.
const maxMetadata = 8 << 10

// metadata returns the metadata in the header.
func (c *call) metadata() ([]xmlform.Metadata, *xmlform.Failure) {
	all, f := xmlform.ParseMetadata(c.Header)
	size := 0
	for _, m := range all {
		size += len(m.Name) + len(m.Value)
	}
	if f == nil && size > maxMetadata {
		f = errMetadataSize
	}
	return all, f
}

// validators returns a header with an ETag and a time of the last change. A blob with uncommitted
// blocks only has neither.
func validators(etag string, modified time.Time) http.Header {
	h := http.Header{}
	if etag != "" {
		h.Set("ETag", etag)
		h.Set("Last-Modified", xmlform.HTTPTime(modified))
	}
	return h
}

// header returns the header of the response to a request for a container.
func (target *container) header() http.Header { return validators(target.etag, target.modified) }

// beingDeleted reports whether a container was deleted a short time ago.
func (c *call) beingDeleted(name string, now time.Time) bool {
	at, deleted := c.store.deleted[name]
	delay := c.options.NameReuseDelay
	return deleted && delay > 0 && now.Sub(at) < delay
}

// createContainer creates a container.
func (c *call) createContainer(name string, now time.Time) *xmlform.Response {
	metadata, f := c.metadata()
	switch {
	case f != nil:
		return xmlform.Refuse(f)
	case c.store.containers[name] != nil:
		return xmlform.Refuse(errContainerExists)
	case c.beingDeleted(name, now):
		return xmlform.Refuse(errContainerBeingDeleted)
	case c.Header.Get("x-ms-blob-public-access") != "":
		return xmlform.Refuse(errPublicAccess)
	}
	delete(c.store.deleted, name)
	target := &container{name: name, metadata: metadata, blobs: map[string]*blob{}}
	c.store.touch(target, now)
	c.store.containers[name] = target
	return &xmlform.Response{Status: http.StatusCreated, Header: target.header()}
}

// checkContainer checks the conditions and the lease ID of a request to a container. A read
// supports no conditions, and only a deletion requires the lease ID.
func (c *call) checkContainer(target *container, now time.Time) *xmlform.Failure {
	x, f := c.parseConditions()
	if f == nil && !c.reads() {
		f = x.checkWrite(target.etag, target.modified)
	}
	id := c.Header.Get("x-ms-lease-id")
	switch {
	case f != nil:
		return f
	case c.Method == http.MethodDelete:
		return target.lease.checkRequired(id, now, containerLease)
	}
	return target.lease.checkGiven(id, now, containerLease)
}

// deleteContainer deletes a container with its blobs.
func (c *call) deleteContainer(target *container, now time.Time) *xmlform.Response {
	if f := c.checkContainer(target, now); f != nil {
		return xmlform.Refuse(f)
	}
	delete(c.store.containers, target.name)
	c.store.deleted[target.name] = now
	return &xmlform.Response{Status: http.StatusAccepted}
}

// containerProperties returns the properties and the metadata of a container, or with comp=metadata
// the metadata alone.
func (c *call) containerProperties(target *container, now time.Time) *xmlform.Response {
	if f := c.checkContainer(target, now); f != nil {
		return xmlform.Refuse(f)
	}
	h := target.header()
	xmlform.SetMetadata(h, target.metadata)
	if !c.Query.Has("comp") {
		target.lease.setHeader(h, now)
		h.Set("x-ms-has-immutability-policy", "false")
		h.Set("x-ms-has-legal-hold", "false")
		h.Set("x-ms-default-encryption-scope", encryptionScope)
		h.Set("x-ms-deny-encryption-scope-override", "false")
		h.Set("x-ms-immutable-storage-with-versioning-enabled", "false")
	}
	return &xmlform.Response{Status: http.StatusOK, Header: h}
}

// encryptionScope is the encryption scope of an account that has defined none.
const encryptionScope = "$account-encryption-key"

// setContainerMetadata replaces the metadata of a container.
func (c *call) setContainerMetadata(target *container, now time.Time) *xmlform.Response {
	metadata, f := c.metadata()
	if f == nil {
		f = c.checkContainer(target, now)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	target.metadata = metadata
	c.store.touch(target, now)
	return &xmlform.Response{Status: http.StatusOK, Header: target.header()}
}

// accountInformation returns the kind of the account. Clients can ask for it at the address of the
// account, of a container or of a blob.
func (c *call) accountInformation(now time.Time) *xmlform.Response {
	if !c.reads() {
		return xmlform.Refuse(xmlform.ErrMethod)
	}
	if f := c.rights.Check(access.Need{Permissions: []string{""}, Account: true}, nil, now); f != nil {
		return xmlform.Refuse(&xmlform.Failure{Failure: *f})
	}
	h := http.Header{}
	h.Set("x-ms-sku-name", "Standard_RAGRS")
	h.Set("x-ms-account-kind", "StorageV2")
	h.Set("x-ms-is-hns-enabled", "false")
	return &xmlform.Response{Status: http.StatusOK, Header: h}
}
