package tables

import (
	"bytes"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
)

// Service is the Table service of an account. It implements protocol.Service.
type Service struct {
	store    store
	settings settings.Settings
	options  Options
}

// New returns a service without tables.
func New(o Options) *Service { return &Service{store: newStore(), options: o} }

// Receive implements protocol.Service.
func (s *Service) Receive(r *protocol.Request, now time.Time) protocol.Call {
	c := &call{Request: r, store: &s.store, settings: &s.settings, options: &s.options, level: odata.MinimalMetadata}
	c.refusal = c.readHead(now)
	return c
}

// readHead authenticates the request and reads its header.
func (c *call) readHead(now time.Time) (f *odata.Failure) {
	switch {
	case c.OtherAccount:
		return errAuthentication
	case c.BadQuery:
		return odata.QuerySyntax
	case settings.IsPreflight(c.Request):
		return nil // without a signature
	}
	a, _ := c.address()
	if c.grant, f = authenticate(c.Request, a.resource, now); f != nil {
		return f
	}
	c.tunnel()
	switch {
	case c.Version != "" && !protocol.ValidVersion(c.Version) && !c.options.Lenient:
		return errHeader
	case c.Version == "":
		return odata.UnknownMediaType // only versions that a client asks for have JSON
	case len(c.Body) > maxTransactionSize:
		return errBodyTooLarge
	case a.resource == batchResource || c.Query.Has("comp"):
		return nil
	}
	c.level, f = odata.ChooseLevel(c.Header.Get("Accept"), c.Query)
	return f
}

// Entity is a stored entity.
type Entity struct {
	PartitionKey, RowKey string
	ETag                 string
	Timestamp            time.Time
	Properties           []odata.Property
}

// Entities returns the entities of a table in order. The caller holds the account's lock.
func (s *Service) Entities(name string) []Entity {
	t := s.store.table(name)
	if t == nil {
		return nil
	}
	var all []Entity
	for p := range t.partitions.from("") {
		for e := range p.entities.from("") {
			properties := slices.Clone(e.properties)
			for i, p := range properties {
				if b, ok := p.Value.([]byte); ok {
					properties[i].Value = bytes.Clone(b)
				}
			}
			all = append(all, Entity{e.pk, e.rk, e.etag, e.timestamp, properties})
		}
	}
	return all
}

// Tables returns the names of the tables in order. The caller holds the account's lock.
func (s *Service) Tables() []string {
	var names []string
	for _, t := range s.store.tables {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return names
}
