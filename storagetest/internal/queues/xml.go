package queues

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// xmlHead is the start of each XML document of the service, with a byte order mark.
const xmlHead = "\ufeff" + `<?xml version="1.0" encoding="utf-8"?>`

// escapeXML escapes a text as the service does. Quotes are not escaped. A carriage return is, because XML parsers drop it.
var escapeXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")

// writeElement writes an element that contains a text.
func writeElement(b *bytes.Buffer, name, text string) {
	if text == "" {
		b.WriteString("<" + name + " />")
		return
	}
	b.WriteString("<" + name + ">")
	escapeXML.WriteString(b, text)
	b.WriteString("</" + name + ">")
}

func httpTime(t time.Time) string { return t.UTC().Format(http.TimeFormat) }
