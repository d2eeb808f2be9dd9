package conformance

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client sends the requests of cases to the services of an account.
type Client struct {
	credential
	endpoints map[string]string // of "table", "queue", "blob"
	transport Transport

	// Scheme is the form of signatures with the account's key: SharedKey, or SharedKeyLite.
	// NewClient sets SharedKey.
	Scheme string

	// Connection says that the headers are compared, too, that belong to the connection and to the
	// program that serves it: Content-Length, Transfer-Encoding and Server.
	Connection bool
}

// Transport sends requests, as *http.Client and *storagetest.Service do.
type Transport interface {
	Do(*http.Request) (*http.Response, error)
}

// The account of emulators, which UseDevelopmentStorage=true stands for.
const developmentStorage = "AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;" +
	"BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;TableEndpoint=http://127.0.0.1:10002/devstoreaccount1"

// NewClient returns a client of the account of a connection string that names an endpoint for each
// service.
func NewClient(connection string, t Transport) (*Client, error) {
	if strings.TrimSuffix(connection, ";") == "UseDevelopmentStorage=true" {
		connection = developmentStorage
	}
	c := &Client{endpoints: map[string]string{}, transport: t, Scheme: "SharedKey"}
	for field := range strings.SplitSeq(connection, ";") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "AccountName":
			c.account = value
		case "AccountKey":
			var err error
			if c.key, err = base64.StdEncoding.DecodeString(value); err != nil {
				return nil, fmt.Errorf("connection string: AccountKey: %w", err)
			}
		case "TableEndpoint", "QueueEndpoint", "BlobEndpoint":
			c.endpoints[strings.ToLower(strings.TrimSuffix(name, "Endpoint"))] = strings.TrimSuffix(value, "/")
		}
	}
	if c.account == "" || len(c.key) == 0 || len(c.endpoints) != 3 {
		return nil, fmt.Errorf("connection string: want AccountName, AccountKey, TableEndpoint, QueueEndpoint and BlobEndpoint, or UseDevelopmentStorage=true")
	}
	return c, nil
}

// response is a response as a case describes it.
type response struct {
	status int
	header http.Header
	body   string
}

// send sends the request of a step.
func (c *Client) send(service string, s step, v variables) (*response, error) {
	address := c.endpoints[service] + v.fill(s.path)
	if before, ok := strings.CutSuffix(address, "{sig}"); ok {
		u, err := url.Parse(before)
		if err != nil {
			return nil, err
		}
		path := strings.TrimPrefix(before, c.endpoints[service])
		path, _, _ = strings.Cut(path, "?")
		address = before + url.QueryEscape(c.shared(service, path, u.Query()))
	}
	body := v.fill(s.body)
	r, err := http.NewRequest(s.method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
	for _, l := range s.header {
		l.value = v.fill(l.value)
		switch {
		case l.value == "", body == "" && l.name == "Content-Type":
		case strings.HasPrefix(l.name, "x-ms-meta-"):
			r.Header[l.name] = []string{l.value} // in the case that was recorded
		default:
			r.Header.Set(l.name, l.value)
		}
	}
	if !r.URL.Query().Has("sig") {
		c.authorize(c.Scheme, service, r, len(body))
	}
	resp, err := c.transport.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if len(resp.TransferEncoding) > 0 {
		resp.Header.Set("Transfer-Encoding", strings.Join(resp.TransferEncoding, ","))
	}
	return &response{resp.StatusCode, resp.Header, string(b)}, nil
}
