package blobs

import (
	"bytes"
	"encoding/binary"
	"hash/crc64"
	"net/http"
	"strconv"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// The headers of a body that is a structured message: the content in segments, each with its CRC64.
const (
	structuredBody   = "x-ms-structured-body"
	structuredLength = "x-ms-structured-content-length"
	structuredForm   = "XSM/1.0; properties=crc64"
)

// The numbers of a structured message. All are little endian.
const (
	messageVersion = 1
	messageCRC64   = 1       // the flag of checksums
	maxSegment     = 4 << 20 // bytes of content in a segment of a response
)

type messageHead struct {
	Version  uint8
	Length   uint64 // of the whole message
	Flags    uint16
	Segments uint16
}

type segmentHead struct {
	Number uint16 // from 1
	Length uint64
}

// checkStructured checks the header of a request that sends or wants a structured message.
func (c *call) checkStructured() *xmlform.Failure {
	if form := c.Header.Get(structuredBody); form != structuredForm {
		return xmlform.InvalidHeader(structuredBody, form)
	}
	return nil
}

// plainBody returns the call with the content of a structured message as its body.
func (c *call) plainBody() (*call, *xmlform.Failure) {
	length, f := c.size(structuredLength, -1)
	if f == nil {
		f = c.checkStructured()
	}
	switch {
	case f != nil:
		return c, f
	case length < 0:
		return c, xmlform.MissingHeader(structuredLength)
	}
	content, f := decodeStructured(c.Body)
	if f == nil && int64(len(content)) != length {
		f = xmlform.InvalidHeader(structuredLength, strconv.FormatInt(length, 10))
	}
	return c.withBody(content), f
}

// withBody returns the call with another body.
func (c *call) withBody(body []byte) *call {
	own, request := *c, *c.Request
	request.Body, own.Request = body, &request
	return &own
}

// decodeStructured returns the content of a structured message.
func decodeStructured(message []byte) ([]byte, *xmlform.Failure) {
	from := bytes.NewReader(message)
	var head messageHead
	if binary.Read(from, binary.LittleEndian, &head) != nil || head.Version != messageVersion ||
		head.Length != uint64(len(message)) || head.Flags != messageCRC64 || head.Segments == 0 {
		return nil, errStructured
	}
	content := make([]byte, 0, len(message))
	for number := range head.Segments {
		var segment segmentHead
		if binary.Read(from, binary.LittleEndian, &segment) != nil || segment.Number != number+1 || segment.Length > uint64(from.Len()) {
			return nil, errStructured
		}
		start := len(content)
		content = content[:start+int(segment.Length)]
		_, _ = from.Read(content[start:])
		if f := readSum(from, content[start:]); f != nil {
			return nil, f
		}
	}
	if f := readSum(from, content); f != nil {
		return nil, f
	}
	if from.Len() > 0 {
		return nil, errStructured
	}
	return content, nil
}

// readSum reads the CRC64 of a content from a structured message.
func readSum(from *bytes.Reader, content []byte) *xmlform.Failure {
	var sum uint64
	switch {
	case binary.Read(from, binary.LittleEndian, &sum) != nil:
		return errStructured
	case sum != crc64.Checksum(content, crcTable):
		return errCRC64Mismatch
	}
	return nil
}

// structured makes the body of the response to a read a structured message, if the request wants
// one.
func (c *call) structured(r *xmlform.Response) *xmlform.Response {
	if c.Header.Get(structuredBody) == "" || r.Failure != nil {
		return r
	}
	if f := c.checkStructured(); f != nil {
		return xmlform.Refuse(f)
	}
	r.Header.Set(structuredBody, structuredForm)
	r.Header.Set(structuredLength, strconv.Itoa(len(r.Body)))
	r.Body = encodeStructured(r.Body)
	r.Header.Set("Content-Length", strconv.Itoa(len(r.Body)))
	return r
}

// encodeStructured returns a content as a structured message.
func encodeStructured(content []byte) []byte {
	var segments bytes.Buffer
	var number uint16
	for rest := content; number == 0 || len(rest) > 0; {
		n := min(len(rest), maxSegment)
		number++
		_ = binary.Write(&segments, binary.LittleEndian, segmentHead{number, uint64(n)})
		segments.Write(rest[:n])
		segments.Write(crc64Of(rest[:n]))
		rest = rest[n:]
	}
	segments.Write(crc64Of(content))
	head := messageHead{Version: messageVersion, Flags: messageCRC64, Segments: number}
	head.Length = uint64(binary.Size(head) + segments.Len())
	var message bytes.Buffer
	_ = binary.Write(&message, binary.LittleEndian, head)
	message.Write(segments.Bytes())
	return message.Bytes()
}

// echoStructured names the form of a structured message in the response to its write.
func (c *call) echoStructured(header http.Header) {
	if form := c.Header.Get(structuredBody); form != "" {
		header.Set(structuredBody, form)
	}
}
