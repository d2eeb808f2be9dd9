package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
)

// lines are a string, or a list of strings.
type lines []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *lines) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*l = lines{s}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// get returns a header.
func (m message) get(name string) string {
	for other, values := range m.header {
		if strings.EqualFold(other, name) {
			return strings.Join(values, ", ")
		}
	}
	return ""
}

// parseProxy reads a file of the recorder that runs as a proxy: bodies as JSON values, texts as
// lists of lines, other bodies in base64.
func parseProxy(b []byte) (all []entry, err error) {
	var file struct {
		Entries []struct {
			RequestURI      string `json:"RequestUri"`
			RequestMethod   string
			RequestHeaders  map[string]lines
			RequestBody     json.RawMessage
			StatusCode      int
			ResponseHeaders map[string]lines
			ResponseBody    json.RawMessage
		}
	}
	if err := json.Unmarshal(bytes.TrimPrefix(b, []byte("\ufeff")), &file); err != nil {
		return nil, err
	}
	for _, r := range file.Entries {
		e := entry{r.RequestMethod, r.RequestURI, r.StatusCode, message{header: r.RequestHeaders}, message{header: r.ResponseHeaders}}
		if e.request.body, err = bodyText(r.RequestBody, e.request.get("Content-Type")); err != nil {
			return nil, err
		}
		if e.respond.body, err = bodyText(r.ResponseBody, e.respond.get("Content-Type")); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

var isText = regexp.MustCompile(`^(application/(json|xml)|text/)`)

// bodyText returns a recorded body.
func bodyText(raw json.RawMessage, contentType string) (string, error) {
	var l lines
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if json.Unmarshal(raw, &l) != nil {
		var b bytes.Buffer
		err := json.Compact(&b, raw)
		return b.String(), err
	}
	joined := strings.Join(l, "")
	if isText.MatchString(contentType) || raw[0] == '[' {
		return joined, nil
	}
	b, err := base64.StdEncoding.DecodeString(joined)
	return string(b), err
}
