package queues

import (
	"net/url"
	"strings"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// address is what a path addresses: the account, a queue, the messages of a queue, or one message.
type address struct {
	queue      string
	isMessages bool // the path ends in /messages or in a message's ID
	message    string
}

// parseAddress parses a path: /, /jobs, /jobs/messages, /jobs/messages/id.
func parseAddress(path string) (a address, f *xmlform.Failure) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range parts {
		var err error
		if parts[i], err = url.PathUnescape(parts[i]); err != nil {
			return a, xmlform.ErrURI
		}
	}
	a.queue = parts[0]
	if parts = parts[1:]; len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1] // a trailing slash
	}
	switch {
	case len(parts) == 0:
		return a, nil
	case len(parts) > 2 || parts[0] != "messages":
		return a, xmlform.ErrURI
	}
	a.isMessages = true
	if len(parts) == 2 {
		a.message = parts[1]
	}
	return a, nil
}
