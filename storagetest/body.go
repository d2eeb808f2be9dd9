package storagetest

import "io"

// maxBody limits the body of a request at a port. The SDKs send larger blobs in blocks.
const maxBody = 512 << 20

// readBody reads a body. If its length is known, as that of a large block is, the body is read into memory of that length.
func readBody(r io.Reader, length int64) ([]byte, error) {
	if length <= 0 || length > maxBody {
		return io.ReadAll(r)
	}
	body := make([]byte, length)
	n, err := io.ReadFull(r, body)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return body[:n], nil
	}
	if err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(r)
	return append(body, rest...), err
}
