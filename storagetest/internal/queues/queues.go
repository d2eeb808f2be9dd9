package queues

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// maxList is the most queues in a page.
const maxList = 5000

// createQueue creates a queue. Creation of an existing queue succeeds if the metadata is the same.
func (c *call) createQueue(name string, now time.Time) *xmlform.Response {
	metadata, f := xmlform.ParseMetadata(c.Header)
	deletedAt, deleted := c.store.deleted[name]
	delay := c.options.NameReuseDelay
	q := c.store.queues[name]
	switch {
	case f != nil:
		return xmlform.Refuse(f)
	case q != nil && slices.Equal(q.metadata, metadata):
		return &xmlform.Response{Status: http.StatusNoContent}
	case q != nil:
		return xmlform.Refuse(errQueueExists)
	case deleted && delay > 0 && now.Sub(deletedAt) < delay:
		return xmlform.Refuse(errQueueBeingDeleted)
	}
	delete(c.store.deleted, name)
	c.store.queues[name] = &queue{name: name, metadata: metadata}
	return &xmlform.Response{Status: http.StatusCreated}
}

// deleteQueue deletes a queue.
func (c *call) deleteQueue(name string, now time.Time) *xmlform.Response {
	delete(c.store.queues, name)
	c.store.deleted[name] = now
	return &xmlform.Response{Status: http.StatusNoContent}
}

// properties returns the number of messages and the metadata of a queue.
func (q *queue) properties() *xmlform.Response {
	header := http.Header{}
	header.Set("x-ms-approximate-messages-count", strconv.Itoa(len(q.messages)))
	xmlform.SetMetadata(header, q.metadata)
	return &xmlform.Response{Status: http.StatusOK, Header: header}
}

// setMetadata replaces the metadata of a queue.
func (c *call) setMetadata(q *queue) *xmlform.Response {
	metadata, f := xmlform.ParseMetadata(c.Header)
	if f != nil {
		return xmlform.Refuse(f)
	}
	q.metadata = metadata
	return &xmlform.Response{Status: http.StatusNoContent}
}

// listQueues returns a page of queues in the order of their names. A marker consists of the
// account's name and that of the next queue.
func (c *call) listQueues() *xmlform.Response {
	n, f := xmlform.Number(c.Query, "maxresults", maxList, 1, 1<<31-1)
	if f == nil {
		f = xmlform.CheckIncludes(c.Query, "metadata")
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	prefix, marker := c.Query.Get("prefix"), c.Query.Get("marker")
	from, ok := strings.CutPrefix(marker, "/"+c.Account.Name+"/")
	if !ok && marker != "" {
		return xmlform.Refuse(xmlform.ErrMarker)
	}
	var page []*queue
	for name, q := range c.store.queues {
		if strings.HasPrefix(name, prefix) && name >= from {
			page = append(page, q)
		}
	}
	slices.SortFunc(page, func(a, b *queue) int { return strings.Compare(a.name, b.name) })
	next := ""
	if n = min(n, maxList); int64(len(page)) > n {
		next, page = "/"+c.Account.Name+"/"+page[n].name, page[:n]
	}
	return &xmlform.Response{Status: http.StatusOK, Body: c.queuesXML(page, next)}
}

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
