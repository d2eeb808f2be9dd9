package blobs

import (
	"bytes"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// sizeLimit is the most bytes of the body of a request since a version of the service.
type sizeLimit struct {
	since string
	most  int64
}

// The limits of an append, of a block and of a block blob in one request, the newest version first.
var (
	appendLimits = []sizeLimit{{"2022-11-02", 100 << 20}, {"", 4 << 20}}
	blockLimits  = []sizeLimit{{"2019-12-12", 4000 << 20}, {"2016-05-31", 100 << 20}, {"", 4 << 20}}
	putLimits    = []sizeLimit{{"2019-12-12", 5000 << 20}, {"2016-05-31", 256 << 20}, {"", 64 << 20}}
)

// checkSize checks the length of the body.
func (c *call) checkSize(limits []sizeLimit) *xmlform.Failure {
	for _, l := range limits {
		if c.Version < l.since {
			continue
		}
		if int64(len(c.Body)) > l.most {
			return xmlform.ErrBodyTooLarge.With("<MaxLimit>%d</MaxLimit>", l.most)
		}
		return nil
	}
	return nil
}

// ownBody returns the body of the request for a blob to keep, without much spare capacity. Blobs never change the bytes of a block,
// so a body of the right capacity is not copied.
func (c *call) ownBody() []byte {
	if cap(c.Body)-len(c.Body) <= len(c.Body)/64 {
		return c.Body
	}
	return bytes.Clone(c.Body)
}
