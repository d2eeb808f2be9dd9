package odata

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// JSON returns the body of the response. The prefix precedes the text.
func (f *Failure) JSON(prefix, requestID string, now time.Time) []byte {
	var w Writer
	w.WriteString(`{"odata.error":`)
	w.Open()
	w.Member("code", f.Code)
	w.Key("message")
	w.Open()
	w.Member("lang", "en-US")
	w.Member("value", prefix+f.Message(requestID, now))
	w.WriteString("}}}")
	return w.Bytes()
}

// XML returns the body of a response of the front end.
func (f *Failure) XML(requestID string, now time.Time) []byte {
	var text bytes.Buffer
	xml.EscapeText(&text, []byte(f.Message(requestID, now)))
	return fmt.Appendf(nil, `<?xml version="1.0" encoding="utf-8"?><m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>%s</m:code><m:message xml:lang="en-US">%s</m:message></m:error>`,
		f.Code, strings.ReplaceAll(text.String(), "&#xA;", "\n"))
}
