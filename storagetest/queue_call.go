package storagetest

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// queueTarget is what the address of a call to the Queue service names: the account, a queue, its messages, one of them.
type queueTarget struct {
	queue    string
	messages bool
	id       string
}

// parseQueueTarget reads an address: /, /hints, /hints/messages, /hints/messages/id.
func parseQueueTarget(path string) (t queueTarget, f *failure) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range parts {
		var err error
		if parts[i], err = url.PathUnescape(parts[i]); err != nil {
			return t, errURI
		}
	}
	t.queue = parts[0]
	if parts = parts[1:]; len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1] // a slash at the end
	}
	switch {
	case len(parts) == 0:
		return t, nil
	case len(parts) > 2 || parts[0] != "messages":
		return t, errURI
	}
	t.messages = true
	if len(parts) == 2 {
		t.id = parts[1]
	}
	return t, nil
}

var queueName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func checkQueueName(name string) *failure {
	switch {
	case len(name) < 3 || len(name) > 63:
		return errQueueLength
	case !queueName.MatchString(name):
		return errQueueName
	}
	return nil
}

// queueKind names what a call to the Queue service asks for.
func (c *call) queueKind(t queueTarget, f *failure) string {
	what := c.method
	if c.method == http.MethodHead && c.query.Get("comp") == "metadata" {
		what = http.MethodGet
	}
	if comp := c.query.Get("comp"); comp != "" || c.query.Has("restype") {
		what += " " + comp
	}
	switch {
	case f != nil || c.query.Has("restype"):
	case t.queue == "":
		if what == "GET list" {
			return "queue-list"
		}
	case t.id != "":
		switch what {
		case "PUT":
			return "message-update"
		case "DELETE":
			return "message-delete"
		}
	case t.messages:
		switch {
		case what == "POST":
			return "message-put"
		case what == "DELETE":
			return "message-clear"
		case what == "GET" && c.query.Get("peekonly") == "true":
			return "message-peek"
		case what == "GET":
			return "message-get"
		}
	default:
		switch what {
		case "PUT":
			return "queue-create"
		case "DELETE":
			return "queue-delete"
		case "GET metadata":
			return "queue-get"
		case "PUT metadata":
			return "queue-set"
		}
	}
	return "other"
}

// describeQueue is the record of a call to the Queue service.
func (c *call) describeQueue() Request {
	t, f := parseQueueTarget(c.path)
	return Request{Kind: c.queueKind(t, f), Queue: t.queue, Message: t.id}
}

// serveQueue carries out a call to the Queue service. What refuses it comes before anything is changed, so there is nothing to
// roll back.
func (s *Service) serveQueue(c *call, now time.Time, f Fault) *reply {
	t, bad := parseQueueTarget(c.path)
	kind := c.queueKind(t, bad)
	switch {
	case bad != nil:
		return refuse(bad)
	case c.query.Has("restype") || c.query.Has("comp") && kind == "other":
		return refuse(errUnsupported)
	case kind == "other":
		return refuse(errVerb)
	case kind == "queue-list":
		return s.state.listQueues(c)
	}
	if bad := checkQueueName(t.queue); bad != nil {
		return refuse(bad)
	}
	if kind == "queue-create" {
		return s.state.createQueue(c, t.queue, now, s.opt.TableDeletion)
	}
	q := s.state.queue(t.queue, now)
	if q == nil {
		return refuse(errNoQueue)
	}
	most := 32
	if f.kind == short {
		most = f.n
	}
	switch kind {
	case "queue-delete":
		delete(s.state.queues, t.queue)
		s.state.deletedQueues[t.queue] = now
		return &reply{status: http.StatusNoContent}
	case "queue-get":
		return q.properties()
	case "queue-set":
		return q.setMetadata(c)
	case "message-put":
		return s.state.putMessage(c, q, now)
	case "message-get":
		return s.state.getMessages(c, q, now, most, s.opt.Shuffle)
	case "message-peek":
		return q.peek(c, now, most, s.opt.Shuffle)
	case "message-update":
		return s.state.updateMessage(c, q, t.id, now, s.opt.ReceiptMismatch)
	case "message-delete":
		return q.deleteMessage(c, t.id, s.opt.ReceiptMismatch)
	default: // message-clear
		q.messages = nil
		return &reply{status: http.StatusNoContent}
	}
}

// metadata is what the x-ms-meta- headers of a call say, by name. Names are kept in lower case.
func (c *call) metadata() (meta []field, bad *failure) {
	for name, values := range c.header {
		key, ok := strings.CutPrefix(strings.ToLower(name), "x-ms-meta-")
		switch {
		case !ok:
			continue
		case key == "":
			return nil, errMetaEmpty
		case !metaName.MatchString(key):
			return nil, errMetadata
		}
		meta = append(meta, field{key, strings.TrimSpace(strings.Join(values, ","))})
	}
	sortFields(meta)
	return meta, nil
}

var metaName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

func (s *state) createQueue(c *call, name string, now time.Time, gone time.Duration) *reply {
	meta, bad := c.metadata()
	at, deleted := s.deletedQueues[name]
	q := s.queues[name]
	switch {
	case bad != nil:
		return refuse(bad)
	case q != nil && slices.Equal(q.meta, meta):
		return &reply{status: http.StatusNoContent}
	case q != nil:
		return refuse(errQueueExists)
	case deleted && gone > 0 && now.Sub(at) < gone:
		return refuse(errQueueDeleted)
	}
	delete(s.deletedQueues, name)
	s.queues[name] = &queueData{name: name, meta: meta}
	return &reply{status: http.StatusCreated}
}

// receiveQueue is the answer to a request to the Queue service where its head is already wrong.
func (s *Service) receiveQueue(r *http.Request, c *call) *reply {
	if f := s.authenticateQueue(r, c); f != nil {
		return refuse(f)
	}
	if c.version == "" {
		return refuse(errUnsupported) // the service as it was in 2009
	}
	return nil
}
