package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// A Feature is what the entities of a handle have besides their rows: an end, or a stamp of their
// partition. It is one type in one file, which embeds plainFeature and replaces what it needs;
// Mode.Chain has those of a handle. What a feature lets a row seem to be, all readers see, and what
// it adds, all writes store.
type Feature interface {
	filter

	// definition is the name by which the catalogue of the table keeps the feature, "" for one that
	// no catalogue keeps.
	definition() string

	// property is the system property that the feature has in the rows of entities, "" for none,
	// and whether writes by the handle store it. store returns what a write of an entity stores
	// there, absent for nothing. had is what the row has. kept is false while the definition is not
	// kept. As a merge takes no property away, it gets a value that means none.
	property() (name string, stores bool)
	store(s *step, p *Plan, c *Change, had edm.Value, kept bool) (edm.Value, error)

	// adds returns a step of each transaction of entities in a partition; none for a step without
	// an operation. What its refusal means says step.shared.
	adds(t *Table, partition string) (step, error)
}

// filter is what something lets a row seem to be that has come with a response.
type filter interface {
	read(t *Table, r received) (received, finding, error)
}

// received is a row of a response. Its columns are those of the Entity if there is no Reader.
type received struct {
	*edm.Reader
	edm.Entity
}

// Property returns a property of the row, absent if it has none of that name.
func (r *received) Property(name string) (edm.Value, error) {
	if r.Reader == nil {
		return stored.Find(r.Entity.Columns, name), nil
	}
	return r.Reader.Property(name)
}

// finding is what becomes of a row.
type finding int

const (
	given    finding = iota // the reader gets it
	absent                  // a reader finds no such entity; writes go by what is stored
	outlived                // there is no such entity, once the row has been deleted: Ends alone says so
)

// plainFeature does nothing.
type plainFeature struct{}

func (plainFeature) definition() string       { return "" }
func (plainFeature) property() (string, bool) { return "", false }

func (plainFeature) read(_ *Table, r received) (received, finding, error) {
	return r, given, nil
}

func (plainFeature) store(*step, *Plan, *Change, edm.Value, bool) (v edm.Value, err error) {
	return v, err
}

func (plainFeature) adds(*Table, string) (step, error) { return step{}, nil }

// filtered applies the features of the handle to a row.
func (t *Table) filtered(r received) (_ received, v finding, err error) {
	for _, f := range t.Mode.Chain {
		if r, v, err = f.read(t, r); v != given || err != nil {
			break
		}
	}
	return r, v, err
}

// filteredRow is filtered for a row that is kept.
func (t *Table) filteredRow(f readResult) (finding, error) {
	if len(t.Mode.Chain) == 0 {
		return given, nil
	}
	in := edm.Entity{PartitionKey: f.row.Key.PartitionKey(), RowKey: f.row.Key.RowKey(), Date: f.date}
	in.Columns = f.row.Columns()
	_, v, err := t.filtered(received{Entity: in})
	return v, err
}

var errAbsent = errs.With(errs.ErrNotFound, errors.New("a feature of the table says that it is not there"))

// keepsProperty reports whether writes store a property of a feature in the rows of entities.
func (m *Mode) keepsProperty() bool {
	return slices.ContainsFunc(m.Chain, func(f Feature) bool {
		_, stores := f.property()
		return stores
	})
}

// keeps reports whether writes apply a feature of a table now.
func (w *write) keeps(t *Table, f Feature) bool {
	i := slices.IndexFunc(w.leases, func(held heldLease) bool { return held.guard == t.Mode.Guard })
	return i < 0 || f.definition() == "" || w.leases[i].Keeps(f.definition())
}

// addedFor returns the steps that features add to a transaction of a partition with operations.
func (w *write) addedFor(at *Table, partition string, ops ...*Op) (all []step, err error) {
	for i, op := range ops {
		if i > 0 && op.Table == ops[i-1].Table {
			continue
		}
		for _, f := range op.Table.Mode.Chain {
			if !w.keeps(op.Table, f) {
				continue
			}
			s, err := f.adds(at, partition)
			if err != nil {
				return nil, err
			}
			if s.Op != nil && !slices.ContainsFunc(all, func(other step) bool { return other.Key == s.Key }) {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// kept is the property of a feature in the row of an entity.
type kept struct {
	name      string
	had, want edm.Value // before the write and after it, absent for none
}

// changes reports whether the write changes the property.
func (k kept) changes() bool {
	return !stored.Same([]edm.Column{{Value: k.had}}, []edm.Column{{Value: k.want}})
}

// storeFeatures determines what the features have in the row of an entity. The maintainers see it
// in the row.
func (s *step) storeFeatures(p *Plan, c *Change, after edm.Stored) error {
	if !s.Table.Mode.keepsProperty() {
		return nil
	}
	columns, err := after.Decoded()
	if err != nil {
		return err
	}
	for _, f := range s.Table.Mode.Chain {
		name, stores := f.property()
		if !stores {
			continue
		}
		had, err := s.had(name)
		if err != nil {
			return err
		}
		want, err := f.store(s, p, c, had, p.root.keeps(s.Table, f))
		if err != nil {
			return err
		}
		c.state.kept = append(c.state.kept, kept{name, had, want})
		columns = stored.Without(columns, name)
		if want.Kind != edm.Absent {
			columns = stored.Put(columns, name, want)
		}
	}
	c.after.stored = edm.Stored{Columns: columns}
	return nil
}

// had returns a property of the entity as it is stored.
func (s *step) had(name string) (v edm.Value, err error) {
	was := s.headBefore()
	if !was.MayHave(name) {
		return v, nil
	}
	r, _, err := was.Open(s.Key.PartitionKey(), s.Key.RowKey())
	if err != nil {
		return v, err
	}
	return r.Property(name)
}

// transactWith sends steps as a transaction, with the steps that features add.
func (t *Table) transactWith(ctx context.Context, steps, added []step) (etags []azcore.ETag, failed int, verdict wire.Outcome, err error) {
	if len(added) == 0 {
		return t.transact(ctx, steps)
	}
	etags, failed, verdict, err = t.transact(ctx, slices.Concat(steps, added))
	return etags[:min(len(steps), len(etags))], failed, verdict, err
}
