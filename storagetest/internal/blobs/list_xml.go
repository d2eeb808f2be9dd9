package blobs

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

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
		e.blob.writeProperties(&b, now)
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

// writeProperties writes the properties of a blob. In a list, the ETag of a blob has no quotes, and that of a container has.
func (b *blob) writeProperties(to *bytes.Buffer, now time.Time) {
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
	xmlform.WriteElement(to, "ServerEncrypted", "true")
	to.WriteString("</Properties>")
}

// writeName writes the name of a blob or of a prefix. XML cannot contain some characters; a name with such a character is encoded
// like a part of an address.
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
