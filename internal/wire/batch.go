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

// Failure reports why the service refused a transaction.
type Failure struct {
	Index   int // of the failed operation; -1 if the service names an operation that was not sent
	Status  int
	Code    string
	Message string
}

// ParseBatchResponse parses the response to a transaction of n operations. A response has one part for each operation, in their
// order, or the single part of the failed operation. Content-IDs are ignored, since the service does not always echo them.
//
// An error means that the outcome is unknown. A success requires the whole response, up to the last byte of its closing boundary,
// since the missing end of a truncated response may contain the failure. A failure requires only its own part.
func ParseBatchResponse(body []byte, n int) (etags []azcore.ETag, failure *Failure, err error) {
	p := batchParser{response: body, rest: body, etags: make([]azcore.ETag, 0, n), ends: make([]int, 0, min(n, etagsTogether))}
	return p.parse(n)
}

func (p *batchParser) parse(n int) (etags []azcore.ETag, failure *Failure, err error) {
	if err := p.outer(n); err != nil {
		return nil, nil, fmt.Errorf("the response to a transaction of %d operations %w, after %d of its parts", n, err, p.parts())
	}
	if p.failure != nil {
		return nil, p.failure, nil
	}
	p.cut()
	if len(p.etags) != n {
		return nil, nil, fmt.Errorf("the response to a transaction of %d operations has %d parts", n, len(p.etags))
	}
	return p.etags, nil, nil
}

var (
	errTruncated = errors.New("is truncated")
	errMalformed = errors.New("is malformed")
)

// batchParser reads a response line by line. Lines end in LF or CR LF, since Cosmos DB mixes both.
type batchParser struct {
	response, rest []byte
	etags          []azcore.ETag
	text           []byte // of the last ETags, which are not cut yet
	ends           []int  // of each of them
	failure        *Failure

	// The last part besides its ETag: from its boundary up to the ETag, and behind it up to the end of the next boundary. Most parts
	// are like the one before.
	before, after []byte
	lineByLine    bool // for tests: parts that are alike are read like others
}

// etagsTogether is the number of ETags that share an allocation. An entity that is kept keeps it.
const etagsTogether = 16

// parts returns the number of operations whose responses were read.
func (p *batchParser) parts() int { return len(p.etags) + len(p.ends) }

// cut cuts the text into ETags.
func (p *batchParser) cut() {
	text, from := string(p.text), 0
	for _, end := range p.ends {
		p.etags = append(p.etags, azcore.ETag(text[from:end]))
		from = end
	}
	p.text, p.ends = p.text[:0], p.ends[:0]
}

// line returns the next line without its end. whole is false if the response ends inside the line.
func (p *batchParser) line() (line []byte, whole bool) {
	end := bytes.IndexByte(p.rest, '\n')
	if end < 0 {
		line, p.rest = p.rest, nil
		return line, false
	}
	line, p.rest = p.rest[:end], p.rest[end+1:]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	return line, true
}

// outer reads the whole response: one part, which is a change set, between boundaries.
func (p *batchParser) outer(n int) error {
	open, whole := p.line()
	if !whole {
		return errTruncated
	}
	if !bytes.HasPrefix(open, []byte("--")) || len(open) < 3 {
		return errMalformed
	}
	head, err := p.header()
	if err != nil {
		return err
	}
	_, boundary, ok := strings.Cut(string(head.contentType), "boundary=")
	if boundary = strings.Trim(boundary, `"`); !ok || boundary == "" || !bytes.HasPrefix(head.contentType, []byte("multipart/mixed")) {
		return errMalformed
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
		return errTruncated
	}
	return errMalformed
}

// changeSet reads the parts of the change set up to its closing boundary.
func (p *batchParser) changeSet(open []byte, n int) error {
	closing := append(bytes.Clone(open), "--"...)
	for first := true; ; first = false {
		for p.parts() < n && p.alike(len(open)) {
		}
		from := p.position()
		line, whole := p.line()
		switch {
		case !whole:
			return errTruncated
		case bytes.Equal(line, closing):
			return nil
		case !bytes.Equal(line, open):
			if len(line) == 0 && first {
				continue
			}
			return errMalformed
		}
		head, err := p.part(open, n)
		if err != nil || p.failure != nil {
			return err
		}
		p.before, p.after = nil, nil
		if head.etag != nil {
			p.before, p.after = p.response[from:head.etagFrom], p.response[head.etagTo:p.position()+len(open)]
		}
	}
}

// alike reads a part that differs from the last one at most by its ETag. It returns false, and reads nothing, if the next part is not
// one. open is the length of the boundary.
func (p *batchParser) alike(open int) bool {
	if p.before == nil || p.lineByLine || !bytes.HasPrefix(p.rest, p.before) {
		return false
	}
	etag := p.rest[len(p.before):]
	end := bytes.IndexByte(etag, '\n') // of its line
	if end > 0 && etag[end-1] == '\r' {
		end--
	}
	if end < 0 || !bytes.HasPrefix(etag[end:], p.after) {
		return false
	}
	p.rest = etag[end+len(p.after)-open:]
	p.add(etag[:end])
	return true
}

// add adds an ETag to the text.
func (p *batchParser) add(etag []byte) {
	p.text = append(p.text, bytes.TrimSpace(etag)...)
	if p.ends = append(p.ends, len(p.text)); len(p.ends) == cap(p.ends) {
		p.cut()
	}
}

// position returns how much of the response was read.
func (p *batchParser) position() int { return len(p.response) - len(p.rest) }

// part reads the response to one operation, up to the next boundary.
func (p *batchParser) part(open []byte, n int) (head batchHeader, err error) {
	if _, err := p.header(); err != nil { // of the part
		return head, err
	}
	line, whole := p.line()
	if !whole {
		return head, errTruncated
	}
	proto, status, _ := bytes.Cut(line, []byte(" "))
	status, _, _ = bytes.Cut(status, []byte(" "))
	code, err := strconv.Atoi(string(status))
	if err != nil || !bytes.HasPrefix(proto, []byte("HTTP/1.")) {
		return head, errMalformed
	}
	if head, err = p.header(); err != nil {
		return head, err
	}
	if code >= 400 {
		return head, p.failed(code, open, n)
	}
	if code < 200 || code > 299 || p.parts() == n {
		return head, errMalformed
	}
	for { // skip the inserted entity, which the service echoes on request
		if bytes.HasPrefix(p.rest, open) {
			break
		}
		if _, whole := p.line(); !whole {
			return head, errTruncated
		}
	}
	p.add(head.etag)
	return head, nil
}

// failed reads the error of the failed operation. A truncated response is enough if the JSON is complete.
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
			return errTruncated
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

// batchHeader is what the parser needs of a header.
type batchHeader struct {
	contentType, etag []byte
	etagFrom, etagTo  int // its positions in the response
}

// header reads header lines up to the empty line. The case of names does not matter.
func (p *batchParser) header() (h batchHeader, err error) {
	for {
		at := p.position()
		line, whole := p.line()
		if !whole {
			return batchHeader{}, errTruncated
		}
		if len(line) == 0 {
			return h, nil
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 0 {
			return batchHeader{}, errMalformed
		}
		switch name := line[:colon]; {
		case len(name) == len("ETag") && bytes.EqualFold(name, []byte("ETag")):
			h.etag = line[colon+1:]
			h.etagFrom, h.etagTo = at+colon+1, at+len(line)
		case len(name) == len("Content-Type") && bytes.EqualFold(name, []byte("Content-Type")):
			h.contentType = bytes.TrimSpace(line[colon+1:])
		}
	}
}
