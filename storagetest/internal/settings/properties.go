package settings

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Settings are the properties of a service. The zero value has the properties of a new account.
type Settings struct {
	// OfBlobs says that the service is the Blob service, which has more properties.
	OfBlobs bool

	elements map[string]*protocol.Element // the properties that were set
	rules    []rule
}

// form is the form of a property: its elements in the order in which the service writes them, and
// the properties of a new account. An element without a default is written once it is set.
type form struct {
	name     string
	parts    []form
	value    string
	boolean  bool
	required bool
	ofBlobs  bool
}

func boolean(name, value string) form { return form{name: name, value: value, boolean: true} }

var (
	version = form{name: "Version", value: "1.0"}
	apis    = form{name: "IncludeAPIs", boolean: true}
	days    = form{name: "Days"}
	enabled = form{name: "Enabled", value: "false", boolean: true, required: true}
)

// retention is the form of the time for which a service retains what it records.
var retention = form{name: "RetentionPolicy", parts: []form{enabled, days}}

// forms are the properties of a service in the order in which the service writes them. Cors is
// written from the rules.
var forms = []form{
	{name: "Logging", parts: []form{version, boolean("Read", "false"), boolean("Write", "false"), boolean("Delete", "false"), retention}},
	{name: "HourMetrics", parts: []form{version, enabled, apis, retention}},
	{name: "MinuteMetrics", parts: []form{version, enabled, apis, retention}},
	{name: "Cors"},
	{name: "DefaultServiceVersion", ofBlobs: true},
	{name: "DeleteRetentionPolicy", parts: []form{enabled, days, boolean("AllowPermanentDelete", "false")}, ofBlobs: true},
	{name: "StaticWebsite", parts: []form{enabled, {name: "IndexDocument"}, {name: "ErrorDocument404Path"}, {name: "DefaultIndexDocumentPath"}}, ofBlobs: true},
}

// defaultHourMetrics are the metrics of a new account that are not off.
var defaultHourMetrics, _ = protocol.ParseDocument([]byte(`<HourMetrics><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></HourMetrics>`))

// The first versions that know some properties.
const (
	versionDeleteRetention = "2017-07-29"
	versionStaticWebsite   = "2018-03-28"
	versionPermanentDelete = "2020-02-10"
)

// maxRetention is the number of days for which a service can retain what it records or deletes.
const maxRetention = 365

// Set sets the properties that an XML document contains. It returns nil if the document is valid.
func (s *Settings) Set(body []byte) *protocol.DocumentFault {
	root, fault := protocol.ParseDocument(body)
	if fault != nil {
		return fault
	}
	if root.Name != "StorageServiceProperties" {
		return &protocol.DocumentFault{}
	}
	rules, elements := s.rules, map[string]*protocol.Element{}
	for name, e := range s.elements {
		elements[name] = e
	}
	for i, e := range root.Children {
		known := slices.IndexFunc(forms, func(f form) bool { return f.name == e.Name && (!f.ofBlobs || s.OfBlobs) })
		if known < 0 || slices.ContainsFunc(root.Children[:i], func(other *protocol.Element) bool { return other.Name == e.Name }) {
			return &protocol.DocumentFault{}
		}
		if e.Name == "Cors" {
			var ok bool
			rules, ok = parseRules(e)
			if !ok {
				return &protocol.DocumentFault{}
			}
		} else if fault := forms[known].check(e); fault != nil {
			return fault
		}
		elements[e.Name] = e
	}
	s.rules, s.elements = rules, elements
	return nil
}

// check checks an element that has the form.
func (f form) check(e *protocol.Element) *protocol.DocumentFault {
	if _, ok := parseBoolean(e.Text); f.boolean && !ok {
		return &protocol.DocumentFault{}
	}
	retains := false
	for _, part := range f.parts {
		child := e.Child(part.name)
		switch {
		case child == nil && part.required && f.hasDays():
			return e.End.Fault("Element is missing: " + part.name + ".")
		case child == nil:
			continue
		}
		if fault := part.check(child); fault != nil {
			return fault
		}
		if part.name == enabled.name {
			retains, _ = parseBoolean(child.Text)
		}
	}
	if !retains || !f.hasDays() {
		return nil
	}
	child := e.Child(days.name)
	if child == nil {
		return e.End.Fault("Element is missing: Days.")
	}
	if n, err := strconv.Atoi(strings.TrimSpace(child.Text)); err != nil || n < 1 || n > maxRetention {
		return e.End.Fault("Retention days must be greater than 0 and less than or equal to 365 days.")
	}
	return nil
}

// hasDays reports whether the form is that of a retention.
func (f form) hasDays() bool {
	return slices.ContainsFunc(f.parts, func(part form) bool { return part.name == days.name })
}

// parseBoolean parses a boolean in any case.
func parseBoolean(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

// XML returns the properties as an XML document, as far as a version knows them.
func (s *Settings) XML(of string) []byte {
	b := bytes.NewBufferString("\ufeff" + `<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties>`)
	for _, f := range forms {
		e := s.elements[f.name]
		switch {
		case f.ofBlobs && !s.OfBlobs, f.name == "DeleteRetentionPolicy" && of < versionDeleteRetention, f.name == "StaticWebsite" && of < versionStaticWebsite:
		case f.name == "Cors":
			writeRules(b, s.rules)
		case f.name == "HourMetrics" && e == nil:
			f.write(b, defaultHourMetrics, of)
		case len(f.parts) > 0 || e != nil:
			f.write(b, e, of)
		}
	}
	b.WriteString("</StorageServiceProperties>")
	return b.Bytes()
}

// write writes an element in the form. A nil element has the defaults.
func (f form) write(b *bytes.Buffer, e *protocol.Element, of string) {
	if len(f.parts) == 0 {
		text := f.value
		if e != nil {
			text = strings.TrimSpace(e.Text)
		}
		if value, ok := parseBoolean(text); f.boolean && ok {
			text = strconv.FormatBool(value)
		}
		writeElement(b, f.name, text)
		return
	}
	b.WriteString("<" + f.name + ">")
	for _, part := range f.parts {
		var child *protocol.Element
		if e != nil {
			child = e.Child(part.name)
		}
		if part.name == "AllowPermanentDelete" && of < versionPermanentDelete {
			continue
		}
		if child != nil || part.value != "" || len(part.parts) > 0 {
			part.write(b, child, of)
		}
	}
	b.WriteString("</" + f.name + ">")
}

// WantsStatistics reports whether a request is for the statistics of the service, if it is for the
// account.
func WantsStatistics(r *protocol.Request) bool {
	return r.Method == http.MethodGet && r.Query.Get("restype") == "service" && r.Query.Get("comp") == "stats"
}

// Statistics returns how far the second location is, as an XML document.
func Statistics(r *protocol.Request) []byte {
	return []byte("\ufeff" + `<?xml version="1.0" encoding="utf-8"?><StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>` +
		r.LastSync.UTC().Format(http.TimeFormat) + "</LastSyncTime></GeoReplication></StorageServiceStats>")
}
