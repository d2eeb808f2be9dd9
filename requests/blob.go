package requests

import (
	"net/http"
	"strings"
)

// isForBlobs reports whether a request is for the Blob service, by its host name or by the name of the SDK in its header. The URL
// alone does not tell if it has an IP address or a domain of the account's own.
func isForBlobs(r *http.Request) bool {
	host := r.URL.Hostname()
	for _, service := range []string{"blob", "queue", "table"} {
		if strings.Contains(host, "."+service+".") {
			return service == "blob"
		}
	}
	return strings.Contains(r.Header.Get("User-Agent"), "azsdk-go-azblob/")
}

// blobKind is KindOf for the Blob service.
func blobKind(r *http.Request) Kind {
	q := r.URL.Query()
	operation := r.Method
	if r.Method == http.MethodHead {
		operation = http.MethodGet
	}
	if q.Has("comp") {
		operation += " " + q.Get("comp")
	}
	switch {
	case q.Has("snapshot") || q.Has("versionid"):
		return Other
	case q.Get("restype") == "container":
		return containerKinds[operation]
	case q.Has("restype"):
		return Other
	case operation == "GET" && r.Method == http.MethodHead:
		return BlobProperties
	}
	return blobKinds[operation]
}

var containerKinds = map[string]Kind{
	"PUT": ContainerCreate, "DELETE": ContainerDelete, "GET": ContainerGet, "GET metadata": ContainerGet, "PUT metadata": ContainerSet,
	"PUT lease": ContainerLease, "GET list": BlobList,
}

var blobKinds = map[string]Kind{
	"GET list": ContainerList, "PUT": BlobCreate, "PUT appendblock": BlobAppend, "PUT block": BlobStage, "PUT blocklist": BlobCommit,
	"GET blocklist": BlobBlocks, "GET": BlobGet, "GET metadata": BlobProperties,
	"PUT metadata": BlobSetMetadata, "PUT properties": BlobSetHeaders, "DELETE": BlobDelete, "PUT lease": BlobLease,
}
