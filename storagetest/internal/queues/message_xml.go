package queues

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"unicode/utf8"

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
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !utf8.Valid(body) {
		return "", false, errXML
	}
	var root struct {
		XMLName xml.Name `xml:"QueueMessage"`
		Text    []string `xml:"MessageText"`
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&root); err != nil {
		return "", false, errXML
	}
	for { // only comments and space may follow
		switch t, err := d.Token(); t := t.(type) {
		case nil:
			if err != io.EOF {
				return "", false, errXML
			}
			switch {
			case len(root.Text) != 1:
				return "", false, errMissingText
			case len(root.Text[0]) > maxMessage:
				return "", false, errMessageTooLarge
			}
			return root.Text[0], true, nil
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return "", false, errXML
			}
		case xml.StartElement, xml.EndElement:
			return "", false, errXML
		}
	}
}
