package xmlform

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// Head is the start of each XML document of the services, with a byte order mark.
const Head = "\ufeff" + `<?xml version="1.0" encoding="utf-8"?>`

// escape escapes a text as the services do. Quotes are not escaped. A carriage return is, because XML parsers drop it.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")

// WriteElement writes an element that contains a text.
func WriteElement(b *bytes.Buffer, name, text string) {
	if text == "" {
		b.WriteString("<" + name + " />")
		return
	}
	b.WriteString("<" + name + ">")
	escape.WriteString(b, text)
	b.WriteString("</" + name + ">")
}

// elementOf returns an element that contains a text.
func elementOf(name, text string) string {
	var b bytes.Buffer
	WriteElement(&b, name, text)
	return b.String()
}

// HTTPTime returns a time as the services write it.
func HTTPTime(t time.Time) string { return t.UTC().Format(http.TimeFormat) }
