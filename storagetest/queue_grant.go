package storagetest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// authenticateQueue tells whether whoever asks the Queue service holds the account's key, or a token, whose it is not looked at.
func (s *Service) authenticateQueue(r *http.Request, c *call) *failure {
	scheme, credential, _ := strings.Cut(c.header.Get("Authorization"), " ")
	switch {
	case scheme == "" && c.query.Has("sig"):
		return errUnsupported
	case scheme == "Bearer" && credential != "" && r.URL.Scheme == "https":
		return nil
	case scheme != "SharedKey":
		return errAuth
	}
	account, signature, _ := strings.Cut(credential, ":")
	date := c.header.Get("x-ms-date")
	if date == "" {
		date = c.header.Get("Date")
	}
	if _, err := http.ParseTime(date); err != nil || account != s.account || !s.signed(signature, s.queueText(r, c)) {
		return errAuth
	}
	return nil
}

// queueText is what the signature of a request to the Queue service is for: more of its head than the Table service takes,
// and the whole query.
func (s *Service) queueText(r *http.Request, c *call) string {
	length := ""
	if len(c.body) > 0 {
		length = strconv.Itoa(len(c.body))
	}
	date := c.header.Get("Date")
	if c.header.Get("x-ms-date") != "" {
		date = ""
	}
	lines := []string{r.Method, c.header.Get("Content-Encoding"), c.header.Get("Content-Language"), length}
	for _, name := range []string{"Content-MD5", "Content-Type"} {
		lines = append(lines, c.header.Get(name))
	}
	lines = append(lines, date)
	for _, name := range []string{"If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"} {
		lines = append(lines, c.header.Get(name))
	}
	headers := map[string]string{}
	for name, values := range c.header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			headers[name] = strings.TrimSpace(strings.Join(values, ","))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lines = append(lines, name+":"+headers[name])
	}
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	lines = append(lines, "/"+s.account+path)
	query := map[string][]string{}
	for name, values := range url.Values(c.query) {
		name = strings.ToLower(name)
		query[name] = append(query[name], values...)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		slices.Sort(query[name])
		lines = append(lines, name+":"+strings.Join(query[name], ","))
	}
	return strings.Join(lines, "\n")
}
