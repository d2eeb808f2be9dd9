package protocol

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/requests"
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

	Remote  string // the address of the client, "" in this process
	Secure  bool   // over HTTPS
	Chunked bool   // the body has no length in the header

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

// SignedResource returns the path, and the parameter comp of the query, as the short forms of a
// signature contain them.
func (r *Request) SignedResource() string {
	if comp := r.Query.Get("comp"); comp != "" {
		return r.SignedPath() + "?comp=" + comp
	}
	return r.SignedPath()
}

// HasKeySignature reports whether the request has a date that is near the account's time, and the
// credential in the Authorization header is the account's name and the signature of text with the
// account's key.
func (r *Request) HasKeySignature(text string, now time.Time) bool {
	_, credential := r.Authorization()
	name, signature, _ := strings.Cut(credential, ":")
	date, err := http.ParseTime(r.Date())
	near := r.Account.MaxSkew <= 0 || now.Sub(date).Abs() <= r.Account.MaxSkew
	return err == nil && near && name == r.Account.Name && r.Account.Signed(signature, text)
}

// Response is a service's response, without the Date that the account adds.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	Code   string // the error code, also of a failed operation inside a transaction's response
}

// Failure is an error of a service.
type Failure struct {
	Status int
	Code   string
	Text   string
}

// Message returns the text of an error as services send it.
func (f Failure) Message(requestID string, now time.Time) string {
	return f.Text + "\nRequestId:" + requestID + "\nTime:" + now.UTC().Format("2006-01-02T15:04:05.0000000Z")
}

// Failures that each service reports.
var (
	AuthenticationFailed = Failure{http.StatusForbidden, "AuthenticationFailed", "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature."}
	MissingLength        = Failure{http.StatusLengthRequired, "MissingContentLengthHeader", "Content-Length HTTP header is missing."}
	NotImplemented       = Failure{http.StatusNotImplemented, "NotImplemented", "The requested operation is not implemented on the specified resource."}
	QuerySyntax          = Failure{http.StatusBadRequest, "InvalidInput", "Bad Request - Error in query syntax."}
	RequestBodyTooLarge  = Failure{http.StatusRequestEntityTooLarge, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit."}
	NoSecondary          = Failure{http.StatusForbidden, "InsufficientAccountPermissions", "Read-access geo-redundant replication is not enabled for the account."}
	SecondaryWrite       = Failure{http.StatusForbidden, "InsufficientAccountPermissions", "Write operations to the secondary location are not allowed."}
	InvalidResourceName  = Failure{http.StatusBadRequest, "InvalidResourceName", "The specifed resource name contains invalid characters."} // sic
)

// StandardHeader returns the header that each response has: the server, the ID of the request, and
// what the client's version implies.
func StandardHeader(r *Request, server string) http.Header {
	h := http.Header{}
	h.Set("Server", server+" Microsoft-HTTPAPI/2.0")
	h.Set("x-ms-request-id", r.ID)
	if IsVersion(r.Version) || r.Lenient && r.Version != "" {
		h.Set("x-ms-version", r.Version)
	}
	if echo := r.Header.Get("x-ms-client-request-id"); echo != "" && r.Version >= "2019-02-02" {
		h.Set("x-ms-client-request-id", echo)
	}
	return h
}

// Account is the name and the key of a storage account.
type Account struct {
	Name string
	Key  []byte

	MaxSkew time.Duration // between the date of a request and the account's time; 0: dates are not compared
}

// Sign returns the signature of text with the account's key.
func (a *Account) Sign(text string) string {
	mac := hmac.New(sha256.New, a.Key)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Signed reports whether signature is that of text.
func (a *Account) Signed(signature, text string) bool {
	return hmac.Equal([]byte(signature), []byte(a.Sign(text)))
}

// Service is one service of an account, as the Table service is. The account's lock protects its
// state.
type Service interface {
	// Receive authenticates a request and reads its head. It reads no state, so the caller need not
	// hold the account's lock.
	Receive(r *Request, now time.Time) Call
}

// Call is a request that a service has received.
type Call interface {
	// Accepted reports whether the head of the request is valid. Execute then executes the request;
	// otherwise Execute returns the refusal.
	Accepted() bool

	// Describe returns what the request addresses. Without withBody, Describe reads only the
	// address.
	Describe(withBody bool) Description

	// Execute executes the request completely, or not at all. The caller holds the account's lock.
	// A call may be executed again.
	Execute(now time.Time, in Injection) *Response

	// Fail returns the response that reports f, in the form of the service. Fail changes nothing.
	// The caller holds the lock.
	Fail(f Failure, now time.Time) *Response
}

// Injection is the effect of a fault inside a service. The zero value is no fault.
type Injection struct {
	PageLimit     *int     // the most rows, messages, containers or blobs in the response; nil: as requested
	PartitionPage bool     // a page of entities ends with its first partition
	SpreadTimes   bool     // the Timestamps of a transaction differ
	LastOperation *Failure // the failure of the last operation of a transaction; nil: none
}

// Description is what a request addresses.
type Description struct {
	Kind requests.Kind

	Table                string
	PartitionKey, RowKey string
	Operations           []Description // of a transaction

	Queue, Message string

	Container, Blob string
}
