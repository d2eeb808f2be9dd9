package integration

import "net/http"

// rawBlob is a client of one fresh append blob in a fresh container that uses the protocol alone.
type rawBlob struct {
	*rawClient
	container string // the path of the container
	path      string // of the blob
}

// blob creates a fresh append blob.
func (p *rawClient) blob() *rawBlob {
	p.Helper()
	b := &rawBlob{rawClient: p, container: "/" + freshName()}
	b.path = b.container + "/a.log"
	if got := b.result("PUT", b.container+"?restype=container", ""); got != "done" {
		p.Fatalf("creating a container: got %s; want done", got)
	}
	if got := b.result("PUT", b.path, "", "x-ms-blob-type", "AppendBlob"); got != "done" {
		p.Fatalf("creating a blob: got %s; want done", got)
	}
	return b
}

// send sends a request. It returns the response's header, with the status, and the body.
func (b *rawBlob) send(method, path, body string, header ...string) (http.Header, string) {
	b.Helper()
	return b.sendXML(b.blobs, method, path, body, header...)
}

// result sends a request and returns its status and error code, or "done".
func (b *rawBlob) result(method, path, body string, header ...string) string {
	b.Helper()
	return resultXML(b.send(method, path, body, header...))
}

// append appends a block and returns the header of the response.
func (b *rawBlob) append(block string, header ...string) http.Header {
	b.Helper()
	head, _ := b.send("PUT", b.path+"?comp=appendblock", block, header...)
	return head
}

// appendResult appends a block and returns the status and error code, or "done".
func (b *rawBlob) appendResult(block string, header ...string) string {
	b.Helper()
	return b.result("PUT", b.path+"?comp=appendblock", block, header...)
}

// list returns the path of a list of the container's blobs.
func (b *rawBlob) list(parameters string) string {
	return b.container + "?restype=container&comp=list" + parameters
}

// rangeResult appends a block of three bytes, reads a range, and returns the status and error code, or "done".
func (b *rawBlob) rangeResult(value string, header ...string) string {
	b.Helper()
	b.append("abc")
	if value != "" {
		header = append(header, "x-ms-range", value)
	}
	return b.result("GET", b.path, "", header...)
}

// createResult creates a blob in the container and returns the status and error code, or "done".
func (b *rawBlob) createResult(name string) string {
	b.Helper()
	return b.result("PUT", b.container+"/"+name, "", "x-ms-blob-type", "AppendBlob")
}

// leaseResult changes the lease of the blob and returns the status and error code, or "done".
func (b *rawBlob) leaseResult(action string, header ...string) string {
	b.Helper()
	return b.result("PUT", b.path+"?comp=lease", "", append(header, "x-ms-lease-action", action)...)
}
