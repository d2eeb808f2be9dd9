package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Failure is the operation for which a transaction was refused.
type Failure struct {
	Index   int // of the operation; -1 if the service names one that was not sent
	Status  int
	Code    string
	Message string
}

// ParseReply reads the response to a transaction of n operations, which stands for all of them or for none: one part for each
// operation, in their order, or the single part of the one that failed. Content-IDs are not looked at, for the service
// echoes them only at times.
//
// An error means that the response does not tell the outcome. A success counts only when the response is whole, to the last
// byte of its closing boundary: what is missing of a cut response may be the failure. A failure counts as soon as its part is
// there.
func ParseBatchResponse(body []byte, n int) (etags []azcore.ETag, failure *Failure, err error) {
	p := batchParser{rest: body, etags: make([]azcore.ETag, 0, n)}
	if err := p.outer(n); err != nil {
		return nil, nil, fmt.Errorf("the reply to a transaction of %d operations %w, after %d of its parts", n, err, len(p.etags))
	}
	if p.failure != nil {
		return nil, p.failure, nil
	}
	if len(p.etags) != n {
		return nil, nil, fmt.Errorf("the reply to a transaction of %d operations has %d parts", n, len(p.etags))
	}
	return p.etags, nil, nil
}

var (
	errCut    = errors.New("is cut short")
	errFormat = errors.New("cannot be read")
)

// replyParser goes through a response line by line. Lines end in LF or CR LF, for Cosmos DB mixes them.
type batchParser struct {
	rest    []byte
	etags   []azcore.ETag
	failure *Failure
}

// line returns the next line without its end. whole is false for the last one, if nothing ends it.
func (p *batchParser) line() (line []byte, whole bool) {
	line, p.rest, whole = bytes.Cut(p.rest, []byte("\n"))
	if whole {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line, whole
}

// outer reads the whole: one part that is a change set, between boundaries.
func (p *batchParser) outer(n int) error {
	open, whole := p.line()
	if !whole {
		return errCut
	}
	if !bytes.HasPrefix(open, []byte("--")) || len(open) < 3 {
		return errFormat
	}
	head, err := p.header()
	if err != nil {
		return err
	}
	_, boundary, ok := strings.Cut(head["content-type"], "boundary=")
	if boundary = strings.Trim(boundary, `"`); !ok || boundary == "" || !strings.HasPrefix(head["content-type"], "multipart/mixed") {
		return errFormat
	}
	if err := p.changeSet([]byte("--"+boundary), n); err != nil || p.failure != nil {
		return err
	}
	end, _ := p.line()
	end = bytes.TrimSuffix(end, []byte("\r"))
	switch closing := append(bytes.Clone(open), "--"...); {
	case bytes.Equal(end, closing):
		return nil
	case bytes.HasPrefix(closing, end):
		return errCut
	}
	return errFormat
}

// changeSet reads the parts up to the change set's closing boundary.
func (p *batchParser) changeSet(open []byte, n int) error {
	closing := append(bytes.Clone(open), "--"...)
	for first := true; ; first = false {
		line, whole := p.line()
		switch {
		case !whole:
			return errCut
		case bytes.Equal(line, closing):
			return nil
		case !bytes.Equal(line, open):
			if len(line) == 0 && first {
				continue
			}
			return errFormat
		}
		if err := p.part(open, n); err != nil || p.failure != nil {
			return err
		}
	}
}

// part reads one operation's answer, up to the boundary that follows it.
func (p *batchParser) part(open []byte, n int) error {
	if _, err := p.header(); err != nil { // of the part
		return err
	}
	line, whole := p.line()
	if !whole {
		return errCut
	}
	proto, status, _ := strings.Cut(string(line), " ")
	status, _, _ = strings.Cut(status, " ")
	code, err := strconv.Atoi(status)
	if err != nil || !strings.HasPrefix(proto, "HTTP/1.") {
		return errFormat
	}
	head, err := p.header()
	if err != nil {
		return err
	}
	if code >= 400 {
		return p.failed(code, open, n)
	}
	if code < 200 || code > 299 || len(p.etags) == n {
		return errFormat
	}
	for { // an inserted entity, if the service was asked to repeat it
		if bytes.HasPrefix(p.rest, open) {
			break
		}
		if _, whole := p.line(); !whole {
			return errCut
		}
	}
	p.etags = append(p.etags, azcore.ETag(head["etag"]))
	return nil
}

// failed reads the failing operation's error. It is certain as soon as the JSON is whole.
func (p *batchParser) failed(status int, open []byte, n int) error {
	f := &Failure{Status: status}
	var body struct {
		Error struct {
			Code    string
			Message struct{ Value string }
		} `json:"odata.error"`
	}
	if err := json.NewDecoder(bytes.NewReader(p.rest)).Decode(&body); err != nil {
		if !bytes.Contains(p.rest, append([]byte("\n"), open...)) && !bytes.HasPrefix(p.rest, open) {
			return errCut
		}
	}
	f.Code, f.Message = body.Error.Code, body.Error.Message.Value
	if i, _, ok := strings.Cut(f.Message, ":"); ok {
		if index, err := strconv.ParseUint(i, 10, 31); err == nil {
			f.Index = int(index)
		}
	}
	if f.Index >= n {
		f.Index = -1
	}
	p.failure = f
	return nil
}

// header reads header lines up to the empty one, names in lower case.
func (p *batchParser) header() (map[string]string, error) {
	h := map[string]string{}
	for {
		line, whole := p.line()
		if !whole {
			return nil, errCut
		}
		if len(line) == 0 {
			return h, nil
		}
		name, value, ok := strings.Cut(string(line), ":")
		if !ok {
			return nil, errFormat
		}
		h[strings.ToLower(name)] = strings.TrimSpace(value)
	}
}
