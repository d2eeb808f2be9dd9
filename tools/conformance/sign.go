package conformance

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// credential is the name and the key of an account.
type credential struct {
	account string
	key     []byte
}

// signature returns the signature of a text with the account's key.
func (c *credential) signature(text string) string {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// authorize sets the Authorization header of a request. If the case says "wrong key", the signature
// is wrong.
func (c *credential) authorize(scheme, service string, r *http.Request, length int) {
	text := c.signedText(service, scheme, r, length)
	if r.Header.Get("Authorization") == "wrong key" {
		text += "!"
	}
	r.Header.Set("Authorization", scheme+" "+c.account+":"+c.signature(text))
}

// signedText returns the text that the signature of a request signs.
func (c *credential) signedText(service, scheme string, r *http.Request, length int) string {
	h, query := r.Header, r.URL.Query()
	resource := "/" + c.account + r.URL.EscapedPath()
	short := resource
	if comp := query.Get("comp"); comp != "" {
		short += "?comp=" + comp
	}
	switch {
	case service == "table" && scheme == "SharedKeyLite":
		return h.Get("x-ms-date") + "\n" + short
	case service == "table":
		return strings.Join([]string{r.Method, h.Get("Content-MD5"), h.Get("Content-Type"), h.Get("x-ms-date"), short}, "\n")
	case scheme == "SharedKeyLite":
		lines := []string{r.Method, h.Get("Content-MD5"), h.Get("Content-Type"), ""}
		return strings.Join(append(append(lines, ownHeaders(h)...), short), "\n")
	}
	size := ""
	if length > 0 {
		size = strconv.Itoa(length)
	}
	lines := []string{r.Method, h.Get("Content-Encoding"), h.Get("Content-Language"), size, h.Get("Content-MD5"), h.Get("Content-Type"), ""}
	for _, name := range []string{"If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"} {
		lines = append(lines, h.Get(name))
	}
	lines = append(append(lines, ownHeaders(h)...), resource)
	var parameters []string
	for name, values := range query {
		slices.Sort(values)
		parameters = append(parameters, strings.ToLower(name)+":"+strings.Join(values, ","))
	}
	slices.Sort(parameters)
	return strings.Join(append(lines, parameters...), "\n")
}

// ownHeaders returns the headers of the service in the form that is signed.
func ownHeaders(h http.Header) []string {
	var all []string
	for name, values := range h {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			all = append(all, name+"\x00"+strings.Join(values, ","))
		}
	}
	slices.Sort(all) // by name: a hyphen would be before a colon
	for i := range all {
		all[i] = strings.Replace(all[i], "\x00", ":", 1)
	}
	return all
}

// shared returns the signature of the shared access signature in a query: for the account if it has
// ss, for a table if it has tn, else for the queue or the container that the path names.
func (c *credential) shared(service, path string, q url.Values) string {
	list := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, q.Get(name))
		}
		return all
	}
	if q.Has("ss") {
		lines := append([]string{c.account}, list("sp", "ss", "srt", "st", "se", "sip", "spr", "sv")...)
		return c.signature(strings.Join(lines, "\n") + "\n")
	}
	resource := "/" + service + "/" + c.account
	switch first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); {
	case q.Has("tn"):
		resource += "/" + strings.ToLower(q.Get("tn"))
	case q.Get("sr") == "b":
		resource += path
	default:
		resource += "/" + first
	}
	lines := append(list("sp", "st", "se"), resource)
	switch lines = append(lines, list("si", "sip", "spr", "sv")...); service {
	case "table":
		lines = append(lines, list("spk", "srk", "epk", "erk")...)
	case "blob":
		lines = append(lines, list("sr", "snapshot", "rscc", "rscd", "rsce", "rscl", "rsct")...)
	}
	return c.signature(strings.Join(lines, "\n"))
}
