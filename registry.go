package aztablekit

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/table"
)

// registry is what is declared in a store, and all mistakes.
type registry struct {
	mu       sync.Mutex
	complete bool              // a method of the store has used the declarations
	owners   map[string]string // of tables, of names that begin tables of periods, and of other names; see claims
	entities map[string]bool   // the tables of entities, in small letters
	claimed  map[string]string // the tables of host.NewTable, by the tables whose definitions have them, "" for none
	things   []host.Parts      // that belong to no table of entities
	faults   []error
	notes    engine.RecordNotes
}

func newRegistry() registry {
	return registry{owners: map[string]string{}, entities: map[string]bool{}, claimed: map[string]string{}}
}

// Claim implements host.Registry.
func (r *registry) Claim(declares, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, of := strings.ToLower(name), strings.ToLower(declares)
	owner := r.owners["table "+id]
	switch {
	case r.entities[id]:
		return &table.ValueError{
			Field:  "table " + name,
			Reason: "has entities of the store, and definitions: use the handle that aztablekit.Table has returned",
		}
	case tableOf(owner) != "" && tableOf(owner) != of:
		return &table.ValueError{
			Field:  "table " + name,
			Reason: fmt.Sprintf("belongs to a definition of %s; choose another name", owner),
		}
	}
	r.claimed[id] = of
	return nil
}

// tableOf returns the table of entities to whose declaration an owner belongs, "" for another
// owner.
func tableOf(owner string) string {
	of, is := strings.CutPrefix(owner, "table ")
	if !is {
		return ""
	}
	return of
}

// claimEntities gives a table of entities its name, unless host.NewTable has made a handle of it.
func (r *registry) claimEntities(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.claimed[id]; taken {
		return &table.ValueError{
			Field:  "table " + id,
			Reason: "has a handle of host.NewTable, which would write it without its definitions; choose another name",
		}
	}
	r.entities[id] = true
	return nil
}

// Notes returns the notes of commit records, for handles of tables that are no declared ones.
func (r *registry) Notes() engine.RecordNotes { return r.notes }

// Declare implements host.Registry.
func (r *registry) Declare(name string, p host.Parts, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		err = r.own(name, p)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}
	if err != nil {
		r.fault(err)
		return err
	}
	r.things = append(r.things, p)
	return nil
}

// admit gives a declared table its name, and all that its definitions have.
func (r *registry) admit(owner string, parts ...host.Parts) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all host.Parts
	for _, p := range parts {
		all.Tables = append(all.Tables, p.Tables...)
		all.Periods = append(all.Periods, p.Periods...)
		all.Names = append(all.Names, p.Names...)
		for _, name := range p.Destinations {
			if err := r.own("destination "+name, host.Parts{Tables: []string{name}}); err != nil {
				return err
			}
		}
	}
	return r.own(owner, all)
}

// refuse adds the mistake of a table.
func (r *registry) refuse(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault(err)
}

// fault adds a mistake, unless the store is in use: what is declared too late harms nothing else.
func (r *registry) fault(err error) {
	if !r.complete {
		r.faults = append(r.faults, err)
	}
}

// claims returns texts for what parts have: with the name of a table in small letters, and with #
// behind it for tables of periods.
func claims(p host.Parts) (all []string) {
	for _, name := range p.Tables {
		all = append(all, "table "+strings.ToLower(name))
	}
	for _, name := range p.Periods {
		all = append(all, "table "+strings.ToLower(name)+"#")
	}
	return append(all, p.Names...)
}

// own gives an owner what parts have. If anything has another owner, or the declarations are
// complete, nothing has a new owner.
func (r *registry) own(owner string, p host.Parts) error {
	if r.complete {
		return &table.ValueError{Field: "the declaration", Reason: "is too late: declare everything before Ensure, Run and the other methods of the store"}
	}
	all := claims(p)
	for _, name := range all {
		for taken, other := range r.owners {
			if !strings.EqualFold(other, owner) && collide(name, taken) {
				return &table.ValueError{Field: strings.TrimSuffix(name, "#"), Reason: fmt.Sprintf("belongs to %s; choose another name", other)}
			}
		}
	}
	for _, name := range p.Tables {
		if of, taken := r.claimed[strings.ToLower(name)]; taken && of != tableOf(owner) {
			return &table.ValueError{
				Field:  "table " + name,
				Reason: "has a handle of host.NewTable; choose another name",
			}
		}
	}
	for _, name := range all {
		r.owners[name] = owner
	}
	return nil
}

// owns reports whether a table of the account belongs to anything that is declared.
func (r *registry) owns(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for claim := range r.owners {
		if collide("table "+strings.ToLower(name), claim) {
			return true
		}
	}
	return false
}

// collide reports whether two claims are of one table.
func collide(a, b string) bool {
	return a == b || isPeriod(a, b) || isPeriod(b, a)
}

// isPeriod reports whether a name is that of a table of periods.
func isPeriod(name, periods string) bool {
	prefix, is := strings.CutSuffix(periods, "#")
	digits, begins := strings.CutPrefix(name, prefix)
	return is && begins && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// allFaults returns the mistakes.
func (r *registry) allFaults() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.faults)
}

// end ends the declarations, and returns the things.
func (r *registry) end() []host.Parts {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complete = true
	return slices.Clone(r.things)
}
