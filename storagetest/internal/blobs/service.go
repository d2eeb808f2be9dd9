package blobs

import (
	"maps"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// Service is the Blob service of an account. It implements protocol.Service.
type Service struct {
	store    store
	settings settings.Settings
	options  Options
}

// New returns a service without containers.
func New(o Options) *Service {
	return &Service{store: newStore(), settings: settings.Settings{OfBlobs: true}, options: o}
}

// Receive implements protocol.Service.
func (s *Service) Receive(r *protocol.Request, now time.Time) protocol.Call {
	c := &call{Request: r, store: &s.store, settings: &s.settings, options: &s.options}
	c.rights, c.refusal = xmlform.Check(r, now, func() (*access.Rights, *protocol.Failure) { return verify(r) })
	if c.refusal == xmlform.ErrAuthentication && !r.OtherAccount && r.Header.Get("Authorization") == "" && r.Version >= versionChallenge {
		c.refusal = errNoAuthentication
	}
	return c
}

// versionChallenge is the first version that tells requests without a signature how to authenticate.
const versionChallenge = "2019-12-12"

// Blob is a stored blob.
type Blob struct {
	Name, Type, ContentType, ETag string
	Blocks                        [][]byte
	Metadata                      map[string]string
	Created, Modified             time.Time
}

// Blobs returns the blobs of a container in the order of their names, without those with uncommitted blocks only. The blocks are not
// copies. The caller holds the account's lock.
func (s *Service) Blobs(name string) []Blob {
	c := s.store.containers[name]
	if c == nil {
		return nil
	}
	var all []Blob
	for _, name := range slices.Sorted(maps.Keys(c.blobs)) {
		b := c.blobs[name]
		if !b.exists() {
			continue
		}
		metadata := map[string]string{}
		for _, m := range b.metadata {
			metadata[m.Name] = m.Value
		}
		all = append(all, Blob{b.name, b.kind, b.contentType(), b.etag, slices.Clone(b.content.blocks), metadata, b.created, b.modified})
	}
	return all
}

// Containers returns the names of the containers in order. The caller holds the account's lock.
func (s *Service) Containers() []string { return slices.Sorted(maps.Keys(s.store.containers)) }
