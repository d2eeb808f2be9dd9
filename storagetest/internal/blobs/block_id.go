package blobs

import (
	"encoding/base64"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// maxBlockID is the maximum length of a block's ID before its encoding.
const maxBlockID = 64

// decodeBlockID decodes the ID of a block.
func decodeBlockID(id string) ([]byte, bool) {
	decoded, err := base64.StdEncoding.Strict().DecodeString(id)
	return decoded, err == nil && len(decoded) > 0
}

// blockID returns the ID of the block in the query.
func (c *call) blockID() (string, *xmlform.Failure) {
	id := c.Query.Get("blockid")
	decoded, ok := decodeBlockID(id)
	switch {
	case id == "":
		return "", xmlform.MissingParameter("blockid")
	case !ok:
		return "", xmlform.InvalidParameter("blockid", id, "Not a valid base64 string.")
	case len(decoded) > maxBlockID:
		return "", errOutOfRange
	}
	return id, nil
}
