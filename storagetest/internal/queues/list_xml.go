package queues

import (
	"bytes"
	"fmt"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// queuesXML returns a page of queues as the body of a response.
func (c *call) queuesXML(page []*queue, next string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `%s<EnumerationResults ServiceEndpoint="%s/">`, xmlform.Head, c.Base)
	xmlform.WriteParameters(&b, c.Query, "Prefix", "Marker", "MaxResults")
	if page == nil {
		b.WriteString("<Queues />")
	} else {
		b.WriteString("<Queues>")
	}
	withMetadata := xmlform.Includes(c.Query, "metadata")
	for i, q := range page {
		b.WriteString("<Queue>")
		xmlform.WriteElement(&b, "Name", q.name)
		if withMetadata {
			xmlform.WriteMetadata(&b, q.metadata)
		}
		if b.WriteString("</Queue>"); i == len(page)-1 {
			b.WriteString("</Queues>")
		}
	}
	xmlform.WriteElement(&b, "NextMarker", next)
	b.WriteString("</EnumerationResults>")
	return b.Bytes()
}
