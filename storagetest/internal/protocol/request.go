package protocol

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Request is a request to one service of an account.
type Request struct {
	Method  string
	URL     *url.URL // as the client sent it
	Path    string   // below the account, escaped
	Query   url.Values
	Header  http.Header
	Fields  Fields // instead of Header, of an operation in a transaction
	Body    []byte
	Account *Account
	Base    string // the account's address as the client knows it
	Version string // x-ms-version
	ID      string // x-ms-request-id of the response

	SentMethod string // Method without X-HTTP-Method

	Remote string // the address of the client, "" in this process
	Secure bool   // over HTTPS

	Lenient bool // requests are executed that only the documentation forbids

	Secondary bool      // the request is for the second location
	LastSync  time.Time // the second location has all changes until then

	OtherAccount bool // the address names another account
	BadQuery     bool // the query cannot be parsed
}

// MetadataPrefix is the prefix of the headers that contain metadata.
const MetadataPrefix = "x-ms-meta-"

// IsMetadata reports whether a header contains metadata.
func IsMetadata(name string) bool {
	return len(name) >= len(MetadataPrefix) && strings.EqualFold(name[:len(MetadataPrefix)], MetadataPrefix)
}

// ParseQuery parses a query. A semicolon is an ordinary character.
func ParseQuery(s string) (url.Values, error) {
	return url.ParseQuery(strings.ReplaceAll(s, ";", "%3B"))
}

var version = regexp.MustCompile(`^20\d\d-[01]\d-[0-3]\d$`)

// ValidVersion reports whether a version has the form of the service's versions.
func ValidVersion(s string) bool { return version.MatchString(s) }

// Field is a line of a header. Its name is canonical.
type Field struct{ Name, Value string }

// Fields are the lines of a header.
type Fields []Field

// Get returns the first value of a header by its canonical name.
func (all Fields) Get(name string) string {
	for i := range all {
		if all[i].Name == name {
			return all[i].Value
		}
	}
	return ""
}

// Get returns a header by its canonical name.
func (r *Request) Get(name string) string {
	if r.Header == nil {
		return r.Fields.Get(name)
	}
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
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
	return scheme == "Bearer" && credential != "" && r.Secure
}

// SignedPath returns the path as a signature with the account's key contains it.
func (r *Request) SignedPath() string {
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	return "/" + r.Account.Name + path
}

// SignedResource returns the path, and the parameter comp of the query, as the short forms of a signature contain them.
func (r *Request) SignedResource() string {
	if comp := r.Query.Get("comp"); comp != "" {
		return r.SignedPath() + "?comp=" + comp
	}
	return r.SignedPath()
}

// HasKeySignature reports whether the request has a date that is near the account's time, and the credential in the Authorization
// header is the account's name and the signature of text with the account's key.
func (r *Request) HasKeySignature(text string, now time.Time) bool {
	_, credential := r.Authorization()
	name, signature, _ := strings.Cut(credential, ":")
	date, err := http.ParseTime(r.Date())
	near := r.Account.MaxSkew <= 0 || now.Sub(date).Abs() <= r.Account.MaxSkew
	return err == nil && near && name == r.Account.Name && r.Account.Signed(signature, text)
}
