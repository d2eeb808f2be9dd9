package blobs

import (
	"net/http"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

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
	kinds := blobKinds
	switch {
	case f != nil || c.Query.Has("snapshot") || c.Query.Has("versionid"):
		return requests.Other
	case a.container == "":
		kinds = accountKinds
	case c.Query.Get("restype") == "container":
		kinds = containerKinds
	case c.Query.Has("restype") || a.blob == "":
		return requests.Other
	}
	return kinds[method]
}

// The kinds of requests by their methods and the parameter comp.
var (
	accountKinds = map[string]requests.Kind{"GET list": requests.ContainerList}

	containerKinds = map[string]requests.Kind{
		http.MethodPut: requests.ContainerCreate, http.MethodDelete: requests.ContainerDelete, http.MethodGet: requests.ContainerGet,
		http.MethodHead: requests.ContainerGet, "GET metadata": requests.ContainerGet, "HEAD metadata": requests.ContainerGet,
		"PUT metadata": requests.ContainerSet, "PUT lease": requests.ContainerLease, "GET list": requests.BlobList,
	}

	blobKinds = map[string]requests.Kind{
		http.MethodPut: requests.BlobCreate, "PUT appendblock": requests.BlobAppend, "PUT block": requests.BlobStage,
		"PUT blocklist": requests.BlobCommit, "GET blocklist": requests.BlobBlocks, http.MethodGet: requests.BlobGet,
		http.MethodHead: requests.BlobProperties, "GET metadata": requests.BlobProperties, "HEAD metadata": requests.BlobProperties,
		"PUT metadata": requests.BlobSetMetadata, "PUT properties": requests.BlobSetHeaders, http.MethodDelete: requests.BlobDelete,
		"PUT lease": requests.BlobLease,
	}
)
