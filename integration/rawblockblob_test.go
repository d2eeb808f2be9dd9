package integration

import (
	"net/http"
	"net/url"
	"strings"
)

// rawBlockBlob is a client of one block blob in a fresh container that uses the protocol alone.
type rawBlockBlob struct{ *rawBlob }

// photo returns the client of a blob that does not exist.
func (p *rawClient) photo() *rawBlockBlob {
	p.Helper()
	b := p.blob()
	b.path = b.container + "/photo.jpg"
	return &rawBlockBlob{b}
}

// answer sends a request and returns the header of the response. The error code of a failure is in the header.
func (b *rawBlockBlob) answer(method, path, body string, header ...string) http.Header {
	b.Helper()
	head, text := b.send(method, path, body, header...)
	if head.Get("x-ms-error-code") == "" && head.Get("Status") >= "400" {
		head.Set("x-ms-error-code", xmlPart(text, "Code"))
	}
	return head
}

// put creates the blob by one request.
func (b *rawBlockBlob) put(content string, header ...string) http.Header {
	b.Helper()
	return b.answer("PUT", b.path, content, append([]string{"x-ms-blob-type", "BlockBlob"}, header...)...)
}

// stage puts an uncommitted block.
func (b *rawBlockBlob) stage(id, block string, header ...string) http.Header {
	b.Helper()
	query := "?comp=block"
	if id != "" {
		query += "&blockid=" + url.QueryEscape(id)
	}
	return b.answer("PUT", b.path+query, block, header...)
}

// commit commits a list of blocks, such as "Latest AAAA,Committed BBBB".
func (b *rawBlockBlob) commit(list string, header ...string) http.Header {
	b.Helper()
	return b.answer("PUT", b.path+"?comp=blocklist", blockList(list), header...)
}

// blockList returns the body of a request that commits blocks.
func blockList(list string) string {
	var body strings.Builder
	body.WriteString("<BlockList>")
	for entry := range strings.SplitSeq(list, ",") {
		if kind, id, ok := strings.Cut(entry, " "); ok {
			body.WriteString("<" + kind + ">" + id + "</" + kind + ">")
		}
	}
	return body.String() + "</BlockList>"
}

// blocks returns the IDs of the committed and of the uncommitted blocks, such as "AAAA BBBB | CCCC".
func (b *rawBlockBlob) blocks() string {
	b.Helper()
	_, body := b.send("GET", b.path+"?comp=blocklist&blocklisttype=all", "")
	ids := func(list string) (all []string) {
		for part := range strings.SplitSeq(xmlPart(body, list), "<Name>") {
			if id, _, ok := strings.Cut(part, "</Name>"); ok {
				all = append(all, id)
			}
		}
		return all
	}
	return strings.TrimSpace(strings.Join(ids("CommittedBlocks"), " ") + " | " + strings.Join(ids("UncommittedBlocks"), " "))
}

// codeOf returns the status and the error code of a response, or "done".
func codeOf(head http.Header) string {
	if head.Get("Status") < "400" {
		return "done"
	}
	return head.Get("Status") + " " + head.Get("x-ms-error-code")
}
