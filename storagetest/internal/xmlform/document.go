package xmlform

import (
	"bytes"
	"encoding/xml"
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// ErrDocument is the failure of a body that is not the XML document that the request requires.
var ErrDocument = InvalidDocument(protocol.DocumentFault{})

// InvalidDocument returns the failure of a body with a fault.
func InvalidDocument(fault protocol.DocumentFault) *Failure {
	return NewFailure(http.StatusBadRequest, "InvalidXmlDocument", "XML specified is not syntactically valid.").
		With("<LineNumber>%d</LineNumber><LinePosition>%d</LinePosition>%s", fault.Line, fault.Position, elementOf("Reason", fault.Reason))
}

// ParseDocument decodes a body that is one XML document into root, as xml.Unmarshal does. Only comments and space may follow the
// document.
func ParseDocument(body []byte, root any) *Failure {
	if _, fault := protocol.ParseDocument(body); fault != nil {
		return InvalidDocument(*fault)
	}
	if xml.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), root) != nil {
		return ErrDocument // another root
	}
	return nil
}
