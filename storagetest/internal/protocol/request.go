package protocol

import (
	"net/http"
	"net/url"
	"strings"
)

// Request is a request to one service of an account.
type Request struct {
	Method  string
	URL     *url.URL // as the client sent it
	Path    string   // below the account, escaped
	Query   url.Values
	Header  http.Header
	Body    []byte
	Account *Account
	Base    string // the account's address as the client knows it
	Version string // x-ms-version
	ID      string // x-ms-request-id of the response

	OtherAccount bool // the address names another account
	BadQuery     bool // the query cannot be parsed
}

// ParseQuery parses a query. A semicolon is an ordinary character.
func ParseQuery(s string) (url.Values, error) {
	return url.ParseQuery(strings.ReplaceAll(s, ";", "%3B"))
}

// Date returns the date that the client signed.
func (r *Request) Date() string {
	if date := r.Header.Get("x-ms-date"); date != "" {
		return date
	}
	return r.Header.Get("Date")
}

// Authorization returns the scheme and the credential of the Authorization header.
func (r *Request) Authorization() (scheme, credential string) {
	scheme, credential, _ = strings.Cut(r.Header.Get("Authorization"), " ")
	return scheme, credential
}

// HasToken reports whether the request bears a token over HTTPS. The token itself is not checked.
func (r *Request) HasToken() bool {
	scheme, credential := r.Authorization()
	return scheme == "Bearer" && credential != "" && r.URL.Scheme == "https"
}

// SignedPath returns the path as a signature with the account's key contains it.
func (r *Request) SignedPath() string {
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	return "/" + r.Account.Name + path
}

// HasKeySignature reports whether the request has a date, and the credential in the Authorization header is the account's name and
// the signature of text with the account's key.
func (r *Request) HasKeySignature(text string) bool {
	_, credential := r.Authorization()
	name, signature, _ := strings.Cut(credential, ":")
	_, err := http.ParseTime(r.Date())
	return err == nil && name == r.Account.Name && r.Account.Signed(signature, text)
}
