package conformance

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Earlier are earlier versions, which recorded their tests at other times, and some with another
// account.
var Earlier = []Module{
	{azure + "data/aztables", "v0.1.0", "recordings", "table", nil},
	{azure + "data/aztables", "v0.4.0", "testdata/recordings", "table", nil},
	{azure + "data/aztables", "v0.6.0", "testdata/recordings", "table", nil},
	{azure + "storage/azblob", "v0.3.0", "recordings", "blob", parseVCR},
}

// parseVCR reads a file of the recorder that earlier versions used: bodies as texts.
func parseVCR(b []byte) (all []entry, err error) {
	var file struct {
		Interactions []struct {
			Request struct {
				Method, URL, Body string
				Headers           map[string]lines
			}
			Response struct {
				Code    int
				Body    string
				Headers map[string]lines
			}
		}
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		return nil, err
	}
	for _, i := range file.Interactions {
		request := message{map[string]lines{}, i.Request.Body}
		for name, values := range i.Request.Headers {
			name = strings.Replace(name, "X-Ms-Meta-", "x-ms-meta-", 1) // the case of the rest counts
			request.header[name] = values
		}
		all = append(all, entry{i.Request.Method, i.Request.URL, i.Response.Code, request, message{i.Response.Headers, i.Response.Body}})
	}
	return all, nil
}
