package aztablekit

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/table"
)

// registry is what is declared in a store, and all mistakes.
type registry struct {
	mu       sync.Mutex
	complete bool              // a method of the store has used the declarations
	owners   map[string]string // of tables, by their names in the account
	things   []extend.Parts    // that belong to no table of entities
	faults   []error
}

// Declare implements extend.Registry.
func (r *registry) Declare(name string, p extend.Parts, err error) error {
	if err == nil {
		err = r.own(name, p.Tables)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.faults = append(r.faults, err)
		return err
	}
	r.things = append(r.things, p)
	return nil
}

// own gives tables an owner. If a table has another one, or the declarations are complete, no table has a new owner.
func (r *registry) own(owner string, tables []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.complete {
		return &table.ValueError{Field: "the declaration", Reason: "is too late: declare everything before Ensure, Run and the other methods of the store"}
	}
	for _, name := range tables {
		if other, owned := r.owners[strings.ToLower(name)]; owned && other != owner {
			return &table.ValueError{Field: "table " + name, Reason: fmt.Sprintf("belongs to %s; choose another name", other)}
		}
	}
	for _, name := range tables {
		r.owners[strings.ToLower(name)] = owner
	}
	return nil
}

// fault adds a mistake.
func (r *registry) fault(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, err)
}

// allFaults returns the mistakes.
func (r *registry) allFaults() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.faults)
}

// end ends the declarations, and returns the things.
func (r *registry) end() []extend.Parts {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complete = true
	return slices.Clone(r.things)
}
