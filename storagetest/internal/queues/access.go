package queues

import (
	"net/http"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// needs are the rights that the operations need. An operation that is not listed cannot be permitted by a signature.
var needs = map[requests.Kind]access.Need{
	requests.QueueList:     {Type: "s", Permissions: []string{"l"}, Account: true},
	requests.QueueCreate:   {Type: "c", Permissions: []string{"c", "w"}, Account: true},
	requests.QueueDelete:   {Type: "c", Permissions: []string{"d"}, Account: true},
	requests.QueueGet:      {Type: "c", Permissions: []string{"r"}},
	requests.QueueSet:      {Type: "c", Permissions: []string{"w"}, Account: true},
	requests.MessagePut:    {Type: "o", Permissions: []string{"a"}},
	requests.MessageGet:    {Type: "o", Permissions: []string{"p"}},
	requests.MessagePeek:   {Type: "o", Permissions: []string{"r"}},
	requests.MessageUpdate: {Type: "o", Permissions: []string{"u"}},
	requests.MessageDelete: {Type: "o", Permissions: []string{"p"}},
	requests.MessageClear:  {Type: "o", Permissions: []string{"d"}, Account: true},
}

// accessPolicies reads or replaces the stored access policies of a queue.
func (c *call) accessPolicies(q *queue) *xmlform.Response {
	switch {
	case c.rights != nil:
		return xmlform.Refuse(&xmlform.Failure{Failure: access.Unauthorized})
	case q == nil:
		return xmlform.Refuse(errQueueNotFound)
	case c.Method == http.MethodGet, c.Method == http.MethodHead:
		return &xmlform.Response{Status: http.StatusOK, Body: q.policies.XML()}
	case c.Method != http.MethodPut:
		return xmlform.Refuse(xmlform.ErrMethod)
	}
	policies, fault := access.ParsePolicies(c.Body, "raup")
	if fault != nil {
		return xmlform.Refuse(xmlform.InvalidDocument(*fault))
	}
	q.policies = policies
	return &xmlform.Response{Status: http.StatusNoContent}
}
