package xmlform

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"unicode/utf8"
)

// ErrDocument is the failure of a body that is not the XML document that the request requires.
var ErrDocument = NewFailure(http.StatusBadRequest, "InvalidXmlDocument", "XML specified is not syntactically valid.").
	With("<LineNumber>0</LineNumber><LinePosition>0</LinePosition><Reason />")

// ParseDocument decodes a body that is one XML document into root, as xml.Unmarshal does. Only comments and space may follow the
// document.
func ParseDocument(body []byte, root any) *Failure {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !utf8.Valid(body) {
		return ErrDocument
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(root); err != nil {
		return ErrDocument
	}
	for {
		switch t, err := d.Token(); t := t.(type) {
		case nil:
			if err != io.EOF {
				return ErrDocument
			}
			return nil
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return ErrDocument
			}
		case xml.StartElement, xml.EndElement:
			return ErrDocument
		}
	}
}
