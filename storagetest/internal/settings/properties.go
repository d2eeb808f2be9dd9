package settings

import (
	"bytes"
	"encoding/xml"
	"slices"
	"strings"
)

// Settings are the properties of a service. The zero value has those of a new account.
type Settings struct {
	elements map[string]string // the XML within each element that was set
	rules    []rule
}

const noRetention = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"

// defaults are the properties of a new account, in the order in which the service writes them. Elements without a default are
// written once they are set.
var defaults = []struct{ name, xml string }{
	{"Logging", "<Version>1.0</Version><Delete>false</Delete><Read>false</Read><Write>false</Write>" + noRetention},
	{"HourMetrics", "<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy>"},
	{"MinuteMetrics", "<Version>1.0</Version><Enabled>false</Enabled>" + noRetention},
	{"Cors", ""},
	{"DefaultServiceVersion", ""},
	{"DeleteRetentionPolicy", ""},
	{"StaticWebsite", ""},
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

// Set sets the properties that an XML document contains. It reports whether the document is valid.
func (s *Settings) Set(body []byte) bool {
	var d document
	if xml.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &d) != nil {
		return false
	}
	elements, rules := map[string]string{}, s.rules
	for _, e := range d.Elements {
		name := e.XMLName.Local
		if !slices.ContainsFunc(defaults, func(d struct{ name, xml string }) bool { return d.name == name }) {
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
	for name, content := range elements {
		s.elements[name] = content
	}
	s.rules = rules
	return true
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
