package integration

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// sendXML sends a request to the Queue service or to the Blob service. It returns the response's header, with the status, and the
// body.
func (p *rawClient) sendXML(endpoint, method, path, body string, header ...string) (http.Header, string) {
	p.Helper()
	req, err := http.NewRequest(method, endpoint+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("x-ms-version", "2018-03-28")
	req.Header.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
	length := ""
	if body != "" {
		length = fmt.Sprint(len(body))
		req.Header.Set("Content-Type", "application/xml")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	lines := []string{method, "", "", length}
	for _, name := range []string{"Content-MD5", "Content-Type", "Date", "If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"} {
		lines = append(lines, req.Header.Get(name))
	}
	var own, query []string
	for name := range req.Header {
		if strings.HasPrefix(strings.ToLower(name), "x-ms-") {
			own = append(own, strings.ToLower(name))
		}
	}
	slices.Sort(own)
	for i, name := range own {
		own[i] = name + ":" + req.Header.Get(name)
	}
	for name, values := range req.URL.Query() {
		query = append(query, name+":"+strings.Join(values, ","))
	}
	slices.Sort(query)
	lines = append(append(append(lines, own...), "/"+p.account+req.URL.EscapedPath()), query...)
	req.Header.Set("Authorization", "SharedKey "+p.account+":"+p.sign(strings.Join(lines, "\n")))
	return p.do(req)
}

var errorElement = regexp.MustCompile(`<Code>([A-Za-z0-9]*)</Code>`)

// resultXML returns the status and the error code of a response, or "done".
func resultXML(head http.Header, body string) string {
	if head.Get("Status") < "400" {
		return "done"
	}
	code := errorElement.FindStringSubmatch(body)
	if code == nil {
		code = []string{"", ""}
	}
	return head.Get("Status") + " " + code[1]
}

// xmlPart returns the text of the first element with a name.
func xmlPart(body, name string) string {
	_, rest, _ := strings.Cut(body, "<"+name+">")
	s, _, _ := strings.Cut(rest, "</"+name+">")
	return s
}
