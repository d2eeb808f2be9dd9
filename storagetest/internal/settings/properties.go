package settings

import (
	"bytes"
	"encoding/xml"
	"maps"
	"strings"
)

// Settings are the properties of a service. The zero value has those of a new account.
type Settings struct {
	// OfBlobs says that the service is the Blob service, which has more properties.
	OfBlobs bool

	elements map[string]string // the XML within each element that was set
	rules    []rule
}

const noRetention = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"

// defaults are the properties of a new account, in the order in which the service writes them. Elements without a default are
// written once they are set.
var defaults = []struct {
	name, xml string
	ofBlobs   bool
}{
	{"Logging", "<Version>1.0</Version><Delete>false</Delete><Read>false</Read><Write>false</Write>" + noRetention, false},
	{"HourMetrics", "<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy>", false},
	{"MinuteMetrics", "<Version>1.0</Version><Enabled>false</Enabled>" + noRetention, false},
	{"Cors", "", false},
	{"DefaultServiceVersion", "", true},
	{"DeleteRetentionPolicy", "", true},
	{"StaticWebsite", "", true},
}

// document is the XML document of properties.
type document struct {
	XMLName  xml.Name  `xml:"StorageServiceProperties"`
	Elements []element `xml:",any"`
}

type element struct {
	XMLName xml.Name
	Content string `xml:",innerxml"`
}

// known reports whether the service has a property.
func (s *Settings) known(name string) bool {
	for _, d := range defaults {
		if d.name == name {
			return !d.ofBlobs || s.OfBlobs
		}
	}
	return false
}

// Set sets the properties that an XML document contains. It reports whether the document is valid.
func (s *Settings) Set(body []byte) bool {
	var d document
	if !unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &d) {
		return false
	}
	elements, rules := map[string]string{}, s.rules
	for _, e := range d.Elements {
		name := e.XMLName.Local
		if _, twice := elements[name]; twice || !s.known(name) {
			return false
		}
		if !validRetention(name, e.Content) {
			return false
		}
		elements[name] = strings.TrimSpace(e.Content)
		if name == "Cors" {
			var ok bool
			if rules, ok = parseRules(e.Content); !ok {
				return false
			}
		}
	}
	if s.elements == nil {
		s.elements = map[string]string{}
	}
	maps.Copy(s.elements, elements)
	s.rules = rules
	return true
}

// unmarshal decodes one XML document, which nothing but space follows.
func unmarshal(text []byte, to any) bool {
	d := xml.NewDecoder(bytes.NewReader(text))
	if d.Decode(to) != nil {
		return false
	}
	rest := text[d.InputOffset():]
	return len(bytes.TrimSpace(rest)) == 0
}

// XML returns the properties as an XML document.
func (s *Settings) XML() []byte {
	b := bytes.NewBufferString("\ufeff" + `<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties>`)
	for _, d := range defaults {
		content, set := s.elements[d.name]
		if !set {
			content = d.xml
		}
		switch {
		case content != "":
			b.WriteString("<" + d.name + ">" + content + "</" + d.name + ">")
		case set || d.name == "Cors":
			b.WriteString("<" + d.name + " />")
		}
	}
	b.WriteString("</StorageServiceProperties>")
	return b.Bytes()
}
