package blobs

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// maxList is the most containers or blobs in a page.
const maxList = 5000

// The words of the parameter include. An account of storagetest has nothing of what most of them
// add to a list.
var (
	blobWords = []string{"snapshots", "metadata", "uncommittedblobs", "copy", "deleted", "tags", "versions", "deletedwithversions",
		"immutabilitypolicy", "legalhold", "permissions"}
	containerWords = []string{"metadata", "deleted", "system"}
)

// pageSize returns how many containers or blobs a page has at most. words are those of the
// parameter include.
func (c *call) pageSize(limit *int, words []string) (int, *xmlform.Failure) {
	n, f := xmlform.Number(c.Query, "maxresults", maxList, 1, 1<<31-1)
	if f == nil {
		f = xmlform.CheckIncludes(c.Query, words...)
	}
	n = min(n, maxList)
	if limit != nil {
		n = min(n, int64(*limit))
	}
	return int(n), f
}

// listContainers returns a page of containers in the order of their names. A marker consists of the
// account's name and that of the next container.
func (c *call) listContainers(now time.Time, limit *int) *xmlform.Response {
	n, f := c.pageSize(limit, containerWords)
	if f != nil {
		return xmlform.Refuse(f)
	}
	marker := c.Query.Get("marker")
	from, ok := strings.CutPrefix(marker, "/"+c.Account.Name+"/")
	if !ok && marker != "" {
		return xmlform.Refuse(errOutOfRange)
	}
	next := ""
	page := names(c.store.containers, c.Query.Get("prefix"), from)
	if len(page) > n {
		next, page = "/"+c.Account.Name+"/"+page[n], page[:n]
	}
	return &xmlform.Response{Status: http.StatusOK, Body: c.containersXML(page, next, now)}
}

// listBlobs returns a page of the blobs of a container in the order of their names. With a
// delimiter, blobs with the same beginning up to the delimiter are one entry.
func (c *call) listBlobs(target *container, now time.Time, limit *int) *xmlform.Response {
	n, f := c.pageSize(limit, blobWords)
	if f == nil {
		f = c.checkContainer(target, now)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	from, ok := parseMarker(c.Query.Get("marker"))
	if !ok {
		return xmlform.Refuse(errOutOfRange)
	}
	from = max(from, c.Query.Get("startFrom"))
	before := c.Query.Get("endBefore")
	prefix, delimiter := c.Query.Get("prefix"), c.Query.Get("delimiter")
	var page []entry
	next := ""
	for _, name := range names(target.blobs, prefix, from) {
		if before != "" && name >= before {
			break
		}
		e := entry{name, target.lookup(name, now)}
		if !e.blob.exists() && (e.blob == nil || !xmlform.Includes(c.Query, "uncommittedblobs")) {
			continue
		}
		if i := strings.Index(name[len(prefix):], delimiter); delimiter != "" && i >= 0 {
			e = entry{name: name[:len(prefix)+i+len(delimiter)]}
			if len(page) > 0 && page[len(page)-1].name == e.name {
				continue
			}
		}
		if len(page) == n {
			next = newMarker(name)
			break
		}
		page = append(page, e)
	}
	return &xmlform.Response{Status: http.StatusOK, Body: c.blobsXML(target, page, next, now)}
}

// noSnapshot is the text of a marker that names the snapshot of the next blob.
const noSnapshot = "!000028!9999-12-31T23:59:59.9999999Z!"

var markerEncoding = base64.StdEncoding.WithPadding('-')

// newMarker returns the marker of a page that begins with a name, in the form of the live service.
func newMarker(name string) string {
	text := markerEncoding.EncodeToString(fmt.Appendf(nil, "%06d!%s%s", len(name), name, noSnapshot))
	return fmt.Sprintf("2!%d!%s", len(text), text)
}

// parseMarker returns the name with which a page begins.
func parseMarker(marker string) (name string, ok bool) {
	if marker == "" {
		return "", true
	}
	parts := strings.SplitN(marker, "!", 3)
	if len(parts) < 3 {
		return "", false
	}
	b, err := markerEncoding.DecodeString(parts[2])
	_, rest, _ := strings.Cut(string(b), "!")
	name, ok = strings.CutSuffix(rest, noSnapshot)
	return name, ok && err == nil && newMarker(name) == marker
}

// containersXML returns a page of containers as the body of a response.
func (c *call) containersXML(page []string, next string, now time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `%s<EnumerationResults ServiceEndpoint="%s/">`, xmlform.Head, c.Base)
	xmlform.WriteParameters(&b, c.Query, "Prefix", "Marker", "MaxResults")
	writeAll(&b, "Containers", page, func(name string) {
		target := c.store.containers[name]
		b.WriteString("<Container>")
		xmlform.WriteElement(&b, "Name", name)
		b.WriteString("<Properties>")
		xmlform.WriteElement(&b, "Last-Modified", xmlform.HTTPTime(target.modified))
		xmlform.WriteElement(&b, "Etag", target.etag)
		writeProperties(&b, target.lease.properties(now))
		writeProperties(&b, [][2]string{{"DefaultEncryptionScope", encryptionScope}, {"DenyEncryptionScopeOverride", "false"},
			{"HasImmutabilityPolicy", "false"}, {"HasLegalHold", "false"}, {"ImmutableStorageWithVersioningEnabled", "false"}})
		b.WriteString("</Properties>")
		if xmlform.Includes(c.Query, "metadata") {
			xmlform.WriteMetadata(&b, target.metadata)
		}
		b.WriteString("</Container>")
	})
	xmlform.WriteElement(&b, "NextMarker", next)
	b.WriteString("</EnumerationResults>")
	return b.Bytes()
}

// entry is an entry of a list: a blob, or if blob is nil, the prefix of several blobs.
type entry struct {
	name string
	blob *blob
}

// blobsXML returns a page of blobs as the body of a response.
func (c *call) blobsXML(target *container, page []entry, next string, now time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `%s<EnumerationResults ServiceEndpoint="%s/" ContainerName="%s">`, xmlform.Head, c.Base, target.name)
	xmlform.WriteParameters(&b, c.Query, "Prefix", "Marker", "MaxResults", "Delimiter")
	writeAll(&b, "Blobs", page, func(e entry) {
		if e.blob == nil {
			b.WriteString("<BlobPrefix>")
			writeName(&b, e.name)
			b.WriteString("</BlobPrefix>")
			return
		}
		b.WriteString("<Blob>")
		writeName(&b, e.name)
		e.blob.writeProperties(&b, xmlform.Includes(c.Query, "copy"), now)
		if xmlform.Includes(c.Query, "metadata") {
			xmlform.WriteMetadata(&b, e.blob.metadata)
		}
		b.WriteString("<OrMetadata /></Blob>")
	})
	xmlform.WriteElement(&b, "NextMarker", next)
	b.WriteString("</EnumerationResults>")
	return b.Bytes()
}

// writeAll writes a list.
func writeAll[E any](b *bytes.Buffer, element string, all []E, write func(E)) {
	if len(all) == 0 {
		b.WriteString("<" + element + " />")
		return
	}
	b.WriteString("<" + element + ">")
	for _, e := range all {
		write(e)
	}
	b.WriteString("</" + element + ">")
}

func writeProperties(b *bytes.Buffer, all [][2]string) {
	for _, p := range all {
		xmlform.WriteElement(b, p[0], p[1])
	}
}

// writeProperties writes the properties of a blob. In a list, the ETag of a blob has no quotes, and
// that of a container has.
func (b *blob) writeProperties(to *bytes.Buffer, withCopy bool, now time.Time) {
	to.WriteString("<Properties>")
	if !b.exists() {
		xmlform.WriteElement(to, "Content-Length", "0")
		xmlform.WriteElement(to, "BlobType", b.kind)
		writeProperties(to, b.lease.properties(now))
		xmlform.WriteElement(to, "ServerEncrypted", "false")
		to.WriteString("</Properties>")
		return
	}
	xmlform.WriteElement(to, "Creation-Time", xmlform.HTTPTime(b.created))
	xmlform.WriteElement(to, "Last-Modified", xmlform.HTTPTime(b.modified))
	xmlform.WriteElement(to, "Etag", strings.Trim(b.etag, `"`))
	xmlform.WriteElement(to, "Content-Length", strconv.FormatInt(b.content.size(), 10))
	xmlform.WriteElement(to, "Content-Type", b.contentType())
	for _, name := range contentHeaders[1:] {
		if name == "Content-MD5" {
			xmlform.WriteElement(to, "Content-CRC64", "")
		}
		xmlform.WriteElement(to, name, b.headers[name])
	}
	xmlform.WriteElement(to, "BlobType", b.kind)
	writeProperties(to, b.lease.properties(now))
	if withCopy && b.copied != nil {
		for _, p := range b.copied.properties() {
			xmlform.WriteElement(to, "Copy"+p[0], p[1])
		}
	}
	xmlform.WriteElement(to, "ServerEncrypted", "true")
	to.WriteString("</Properties>")
}

// writeName writes the name of a blob or of a prefix. XML cannot contain some characters; a name
// with such a character is encoded like a part of an address.
func writeName(b *bytes.Buffer, name string) {
	if strings.ContainsFunc(name, notInXML) {
		b.WriteString(`<Name Encoded="true">` + url.PathEscape(name) + "</Name>")
		return
	}
	xmlform.WriteElement(b, "Name", name)
}

// notInXML reports whether XML cannot contain a character.
func notInXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff'
}
