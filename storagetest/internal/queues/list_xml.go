package queues

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// queuesXML returns a page of queues as the body of a response.
func (c *call) queuesXML(page []*queue, next string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `%s<EnumerationResults ServiceEndpoint="%s/">`, xmlHead, c.Base)
	for _, p := range []struct{ name, element string }{{"prefix", "Prefix"}, {"marker", "Marker"}, {"maxresults", "MaxResults"}} {
		if value := c.Query.Get(p.name); value != "" {
			writeElement(&b, p.element, value)
		}
	}
	if page == nil {
		b.WriteString("<Queues />")
	} else {
		b.WriteString("<Queues>")
	}
	withMetadata := slices.Contains(strings.Split(c.Query.Get("include"), ","), "metadata")
	for i, q := range page {
		b.WriteString("<Queue>")
		writeElement(&b, "Name", q.name)
		if withMetadata {
			writeMetadata(&b, q.metadata)
		}
		if b.WriteString("</Queue>"); i == len(page)-1 {
			b.WriteString("</Queues>")
		}
	}
	writeElement(&b, "NextMarker", next)
	b.WriteString("</EnumerationResults>")
	return b.Bytes()
}

func writeMetadata(b *bytes.Buffer, all []metadata) {
	if all == nil {
		b.WriteString("<Metadata />")
		return
	}
	b.WriteString("<Metadata>")
	for _, m := range all {
		writeElement(b, m.name, m.value)
	}
	b.WriteString("</Metadata>")
}
