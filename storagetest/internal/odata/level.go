package odata

import (
	"net/url"
	"strings"
)

// Level is the amount of metadata in a response.
type Level string

const (
	NoMetadata      Level = "nometadata"
	MinimalMetadata Level = "minimalmetadata"
	FullMetadata    Level = "fullmetadata"
)

// ContentType returns the content type of a JSON response.
func (l Level) ContentType() string {
	return "application/json;odata=" + string(l) + ";streaming=true;charset=utf-8"
}

// ChooseLevel returns the level that a request asks for. $format takes precedence over Accept.
func ChooseLevel(accept string, query url.Values) (Level, *Failure) {
	if f := query.Get("$format"); f != "" {
		accept = f
	}
	accept = strings.ReplaceAll(accept, " ", "")
	for _, l := range []Level{NoMetadata, MinimalMetadata, FullMetadata} {
		if strings.Contains(accept, "odata="+string(l)) {
			return l, nil
		}
	}
	if accept == "" || strings.Contains(accept, "json") || strings.Contains(accept, "*/*") {
		return MinimalMetadata, nil
	}
	return MinimalMetadata, UnknownMediaType
}

// IsJSON reports whether a Content-Type is JSON.
func IsJSON(contentType string) bool {
	mime, _, _ := strings.Cut(contentType, ";")
	return strings.TrimSpace(mime) == "application/json"
}
