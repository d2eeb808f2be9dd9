package queues

import (
	"bytes"
	"encoding/xml"
	"strconv"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// messageParts are the parts of a message that a response contains.
type messageParts struct{ receipt, text bool }

// messagesXML returns a list of messages as the body of a response.
func messagesXML(all []*message, parts messageParts) []byte {
	var b bytes.Buffer
	b.WriteString(xmlform.Head)
	if len(all) == 0 {
		b.WriteString("<QueueMessagesList />")
		return b.Bytes()
	}
	b.WriteString("<QueueMessagesList>")
	for _, m := range all {
		b.WriteString("<QueueMessage>")
		xmlform.WriteElement(&b, "MessageId", m.id)
		xmlform.WriteElement(&b, "InsertionTime", xmlform.HTTPTime(m.inserted))
		xmlform.WriteElement(&b, "ExpirationTime", xmlform.HTTPTime(m.expires))
		if parts.receipt {
			xmlform.WriteElement(&b, "PopReceipt", m.receipt)
			xmlform.WriteElement(&b, "TimeNextVisible", xmlform.HTTPTime(m.visible))
		}
		if parts.text {
			xmlform.WriteElement(&b, "DequeueCount", strconv.Itoa(m.dequeued))
			xmlform.WriteElement(&b, "MessageText", m.text)
		}
		b.WriteString("</QueueMessage>")
	}
	b.WriteString("</QueueMessagesList>")
	return b.Bytes()
}

// parseMessage parses the body of a put or an update. present is false if there is no body.
func parseMessage(body []byte) (text string, present bool, f *xmlform.Failure) {
	if len(body) == 0 {
		return "", false, nil
	}
	var root struct {
		XMLName xml.Name `xml:"QueueMessage"`
		Text    []string `xml:"MessageText"`
	}
	f = xmlform.ParseDocument(body, &root)
	switch {
	case f != nil:
		return "", false, f
	case len(root.Text) != 1:
		return "", false, errMissingText
	case len(root.Text[0]) > maxMessage:
		return "", false, errMessageTooLarge
	}
	return root.Text[0], true, nil
}
