package settings

import (
	"bytes"
	"encoding/xml"
)

// writeElement writes an element that contains a text.
func writeElement(b *bytes.Buffer, name, text string) {
	if text == "" {
		b.WriteString("<" + name + " />")
		return
	}
	b.WriteString("<" + name + ">")
	xml.EscapeText(b, []byte(text))
	b.WriteString("</" + name + ">")
}
