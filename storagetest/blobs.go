package storagetest

import (
	"bytes"
	"time"
)

// Blob is a stored blob of a container.
type Blob struct {
	Name        string
	Type        string // "AppendBlob" or "BlockBlob"
	ContentType string
	ETag        string

	// Blocks are the committed blocks of the content in order; the content of a block blob that was written by one request is one
	// block. They must not be modified.
	Blocks [][]byte

	Metadata map[string]string // names are in lower case
	Created  time.Time
	Modified time.Time
}

// Content returns a copy of the content of the blob.
func (b Blob) Content() []byte { return bytes.Join(b.Blocks, nil) }

// StoredBlobs returns the blobs of a container in the order of their names. A blob with uncommitted blocks only is not among them.
// StoredBlobs makes no request.
func (s *Service) StoredBlobs(container string) []Blob {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Blob
	for _, b := range s.blobs.Blobs(container) {
		all = append(all, Blob(b))
	}
	return all
}

// ContainerNames returns the names of the containers in order. ContainerNames makes no request.
func (s *Service) ContainerNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blobs.Containers()
}
