package blobs

import (
	"net/http"
	"time"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

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

// execute executes the call. Each operation checks the whole call before its first change, so no change is rolled back.
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
	case c.Header.Get("x-ms-encryption-key") != "", c.Header.Get("x-ms-encryption-scope") != "":
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	case c.Query.Get("comp") == "acl" && c.Query.Get("restype") == "container" && a.container != "":
		return c.accessPolicies(c.store.containers[a.container], now)
	case a == address{} && c.Query.Get("restype") == "container":
		return xmlform.Refuse(xmlform.InvalidParameter("comp", c.Query.Get("comp"), ""))
	case kind == requests.Other && (len(c.Query) > 0 || a == address{}):
		return xmlform.Refuse(xmlform.ErrNotImplemented)
	case kind == requests.Other:
		return xmlform.Refuse(xmlform.ErrMethod)
	}
	if f := c.permits(a, kind, now); f != nil {
		return xmlform.Refuse(f)
	}
	if kind == requests.ContainerList {
		return c.listContainers(now, in.PageLimit)
	}
	if f := checkContainerName(a.container); f != nil {
		return xmlform.Refuse(f)
	}
	if kind == requests.ContainerCreate {
		return c.createContainer(a.container, now)
	}
	target := c.store.containers[a.container]
	if target == nil && kind == requests.ContainerDelete && c.beingDeleted(a.container, now) {
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

// executeOnContainer executes a call to an existing container.
func (c *call) executeOnContainer(kind requests.Kind, target *container, now time.Time, pageLimit *int) *xmlform.Response {
	switch kind {
	case requests.ContainerDelete:
		return c.deleteContainer(target, now)
	case requests.ContainerGet:
		return c.containerProperties(target, now)
	case requests.ContainerSet:
		return c.setContainerMetadata(target, now)
	case requests.ContainerLease:
		return c.changeLease(&target.lease, target.etag, target.modified, now, containerLease)
	default: // requests.BlobList
		return c.listBlobs(target, now, pageLimit)
	}
}

// missingBlob returns the failure of a call to a blob that does not exist. An append does not check its conditions first.
func (c *call) missingBlob(kind requests.Kind) *xmlform.Failure {
	x, f := c.parseConditions()
	if f == nil && kind != requests.BlobAppend {
		f = x.checkMissing(c.reads())
	}
	if f == nil {
		f = errBlobNotFound
	}
	return f
}

// executeOnBlob executes a call to a blob, which may not exist.
func (c *call) executeOnBlob(kind requests.Kind, parent *container, name string, now time.Time) *xmlform.Response {
	b := parent.lookup(name, now)
	switch {
	case kind == requests.BlobCreate:
		return c.createBlob(parent, name, b, now)
	case kind == requests.BlobStage:
		return c.putBlock(parent, name, b, now)
	case kind == requests.BlobCommit:
		return c.commitBlocks(parent, name, b, now)
	case b == nil, !b.exists() && kind != requests.BlobBlocks && kind != requests.BlobLease:
		return xmlform.Refuse(c.missingBlob(kind))
	}
	switch kind {
	case requests.BlobBlocks:
		return c.getBlockList(b, now)
	case requests.BlobAppend:
		return c.appendBlock(b, now)
	case requests.BlobGet:
		return c.override(c.getBlob(b, now))
	case requests.BlobProperties:
		return c.override(c.blobProperties(b, now))
	case requests.BlobSetMetadata:
		return c.setBlobMetadata(b, now)
	case requests.BlobSetHeaders:
		return c.setBlobHeaders(b, now)
	case requests.BlobDelete:
		return c.deleteBlob(parent, b, now)
	default: // requests.BlobLease
		return c.changeLease(&b.lease, b.etag, b.modified, now, blobLease)
	}
}
