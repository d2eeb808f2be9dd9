package integration

import (
	"fmt"
	"strings"
)

// blockBlobDifferences are the known differences of the requests for block blobs. The number R stands for recordings of the live
// service without an observation of their own, and B for its documentation.
var blockBlobDifferences = []difference{
	{"R", "the checksum in the response to a block in a version before 2019-02-02", func(p *rawClient) string { return checksums(p.photo().stage("AAAA", "a")) }, "DMF1ucDxtqgxw5niaXcmYQ== ", " PPzLtEWEL4w="},
	{"R", "the checksum in the response to a block with Content-MD5", func(p *rawClient) string {
		return checksums(p.photo().stage("AAAA", "a", "x-ms-version", "2021-12-02", "Content-MD5", "DMF1ucDxtqgxw5niaXcmYQ=="))
	}, "DMF1ucDxtqgxw5niaXcmYQ== ", " "},
	{"R", "the checksum in the response to a block list", func(p *rawClient) string {
		return checksums(p.photo().commit("", "x-ms-version", "2021-12-02"))
	}, " MdkAm9d35B8=", "oA4t1CvHA7kmTtLlq/c/lA== "},
	{"R", "the checksums in the response to a put", func(p *rawClient) string { return checksums(p.photo().put("a", "x-ms-version", "2021-12-02")) }, "DMF1ucDxtqgxw5niaXcmYQ== PPzLtEWEL4w=", "DMF1ucDxtqgxw5niaXcmYQ== "},
	{"R", "Content-MD5 of a block blob without one", func(p *rawClient) string {
		b := p.photo()
		b.stage("AAAA", "a")
		b.commit("Latest AAAA")
		head, _ := b.send("GET", b.path, "")
		return head.Get("Content-MD5")
	}, "", "DMF1ucDxtqgxw5niaXcmYQ=="},
	{"R", "the ETag of a blob with uncommitted blocks only", func(p *rawClient) string {
		b := p.photo()
		b.stage("AAAA", "a")
		head, _ := b.send("GET", b.path+"?comp=blocklist&blocklisttype=all", "")
		return fmt.Sprintf("%t %s", head.Get("ETag") != "", head.Get("x-ms-blob-content-length"))
	}, "false ", "true 0"},
	{"R", "the properties in a list of a blob with uncommitted blocks only", func(p *rawClient) string {
		b := p.photo()
		b.stage("AAAA", "a")
		_, body := b.send("GET", b.list("&prefix=photo&include=uncommittedblobs"), "")
		return fmt.Sprint(strings.Contains(xmlPart(body, "Properties"), "Last-Modified"))
	}, "false", "true"},
	{"B", "the order of uncommitted blocks", func(p *rawClient) string {
		b := p.photo()
		b.stage("BBBB", "b")
		b.stage("AAAA", "a")
		return b.blocks()
	}, "| AAAA BBBB", "| BBBB AAAA"},
	{"B", "uncommitted blocks after the blob is replaced", func(p *rawClient) string {
		b := p.photo()
		b.stage("AAAA", "a")
		b.put("one")
		return b.blocks()
	}, "|", "| AAAA"},
	{"B", "uncommitted blocks after the blob is deleted", func(p *rawClient) string {
		b := p.photo()
		b.put("one")
		b.stage("AAAA", "a")
		b.send("DELETE", b.path, "")
		return codeOf(b.commit("Latest AAAA"))
	}, "400 InvalidBlockList", "done"},
	{"B", "a deletion of a blob with uncommitted blocks only", func(p *rawClient) string {
		b := p.photo()
		b.stage("AAAA", "a")
		return b.result("DELETE", b.path, "")
	}, "404 BlobNotFound", "done"},
	{"B", "If-None-Match: * of a put on a blob with uncommitted blocks only", func(p *rawClient) string {
		b := p.photo()
		b.stage("AAAA", "a")
		return codeOf(b.put("one", "If-None-Match", "*"))
	}, "done", "409 BlobAlreadyExists"},
	{"B", "x-ms-blob-content-md5 of a whole blob", func(p *rawClient) string {
		b := p.photo()
		b.put("a")
		head, _ := b.send("GET", b.path, "")
		return head.Get("x-ms-blob-content-md5")
	}, "", "DMF1ucDxtqgxw5niaXcmYQ=="},
	{"B", "a block of 0 bytes", func(p *rawClient) string { return codeOf(p.photo().stage("AAAA", "")) }, "400 InvalidHeaderValue", "done"},
	{"B", "a block over 4 MiB in a version before 2016-05-31", func(p *rawClient) string {
		return codeOf(p.photo().stage("AAAA", strings.Repeat("x", 4<<20+1), "x-ms-version", "2015-12-11"))
	}, "413 RequestBodyTooLarge", "done"},
	{"B", "a block without an ID", func(p *rawClient) string { return codeOf(p.photo().stage("", "a")) }, "400 MissingRequiredQueryParameter", "400 "},
	{"B", "a list of 50,001 blocks", func(p *rawClient) string {
		b := p.photo()
		b.stage("AAAA", "a")
		return codeOf(b.commit(strings.Repeat(",Latest AAAA", 50_001)))
	}, "400 BlockListTooLong", "done"},
	{"B", "an ID in a block list that is not base64", func(p *rawClient) string { return codeOf(p.photo().commit("Latest ?")) }, "400 InvalidBlockId", "400 InvalidBlockList"},
	{"B", "an unknown element in a block list", func(p *rawClient) string { return codeOf(p.photo().commit("Newest AAAA")) }, "400 InvalidXmlDocument", "400 InvalidBlockList"},
	{"B", "a body that is not a block list", func(p *rawClient) string {
		b := p.photo()
		return b.result("PUT", b.path+"?comp=blocklist", "<Blocks />")
	}, "400 InvalidXmlDocument", "done"},
	{"B", "an unknown type of block lists", func(p *rawClient) string {
		b := p.photo()
		b.put("one")
		return b.result("GET", b.path+"?comp=blocklist&blocklisttype=some", "")
	}, "400 InvalidQueryParameterValue", "400 "},
}
