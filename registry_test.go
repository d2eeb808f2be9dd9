package aztablekit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// rowsBeside is a definition that makes a handle of a table by host.NewTable.
type rowsBeside struct{ of string }

func (d *rowsBeside) Name() string { return "beside" }

func (d *rowsBeside) Define(to *extend.Declaration[employee]) error {
	rows, err := host.NewTable(host.OfDeclaration(to), d.of, table.Schema[table.Row]{}, nil)
	if err != nil {
		return err
	}
	return host.Needs(to, func(table.Handle) (host.Parts, error) {
		return host.Parts{Tables: []string{rows.Name()}}, nil
	})
}

// TestClaimedNames: no handle of host.NewTable writes a table of entities, or one of its definitions, around these definitions, in
// whichever order they are made.
func TestClaimedNames(t *testing.T) {
	t.Parallel()
	newTable := func(s extend.Store, name string) error {
		_, err := host.NewTable(s, name, table.Schema[table.Row]{}, nil)
		return err
	}
	declare := func(s *aztablekit.Store, definitions ...aztablekit.Definition[employee]) error {
		aztablekit.Table(s, "staff", dept, empid, definitions...)
		return s.Err()
	}
	names := func() aztablekit.Definition[employee] {
		return index.NewGlobal("name", keys.Text(), func(e *employee) (string, bool) { return e.Email, true }, nil)
	}
	for what, c := range map[string]struct {
		do   func(s *aztablekit.Store) error
		want string // in the error; "" for none
	}{
		"a table of entities": {func(s *aztablekit.Store) error {
			_ = declare(s)
			return newTable(s, "Staff")
		}, "aztablekit.Table"},
		"a table of entities in use": {func(s *aztablekit.Store) error {
			_ = declare(s)
			if err := s.Ensure(t.Context()); err != nil {
				return err
			}
			return newTable(s, "staff")
		}, "aztablekit.Table"},
		"before the declaration": {func(s *aztablekit.Store) error {
			if err := newTable(s, "staff"); err != nil {
				return err
			}
			return declare(s)
		}, "host.NewTable"},
		"the table of a definition": {func(s *aztablekit.Store) error {
			_ = declare(s, names())
			return newTable(s, "staffname")
		}, "belongs to a definition of table tstaff"},
		"the table of a definition, before": {func(s *aztablekit.Store) error {
			if err := newTable(s, "staffname"); err != nil {
				return err
			}
			return declare(s, names())
		}, "host.NewTable"},
		"by a definition, its own table": {func(s *aztablekit.Store) error {
			return declare(s, &rowsBeside{of: "staff"})
		}, "aztablekit.Table"},
		"by a definition": {func(s *aztablekit.Store) error {
			_ = declare(s, &rowsBeside{of: "staffbeside"})
			return s.Ensure(t.Context())
		}, ""},
		"other names": {func(s *aztablekit.Store) error {
			lease.New(s, "leases", nil)
			lease.New(s, "leases", nil)
			return errors.Join(newTable(s, "notes"), newTable(s, "notes"), declare(s, names()))
		}, ""},
	} {
		s := aztablekit.Open(storagetest.New(nil), "company", &aztablekit.Options{Prefix: "t", Daily: -1})
		err := c.do(s)
		var wrong *table.ValueError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &wrong) || !strings.Contains(fmt.Sprint(err), c.want)) {
			t.Errorf("%s: got %v; want a *ValueError with %q, or none", what, err, c.want)
		}
	}
}

// TestHostIsACopy: what authors of definitions see of a store is not the store: a change of it changes no handle.
func TestHostIsACopy(t *testing.T) {
	t.Parallel()
	service := storagetest.New(nil)
	s := aztablekit.Open(service, "company", nil)
	for _, h := range []*host.Host{host.Of(s), host.OfDeclaration(bare.Declare(host.Of(s), aztablekit.Table(s, "others", dept, empid)))} {
		*h = host.Host{Prefix: "other"}
	}
	d := bare.Declare(host.Of(s), aztablekit.Table(s, "staff", dept, empid))
	host.OfDeclaration(d).Prefix = "other"
	if got := []string{host.Of(s).Prefix, host.OfDeclaration(d).Prefix}; strings.Join(got, "") != "" {
		t.Errorf("got the prefixes %q, want none", got)
	}
	if err := s.Ensure(t.Context()); err != nil || !slices.Contains(service.TableNames(), "staff") {
		t.Errorf("got the tables %v, %v; want staff", service.TableNames(), err)
	}
}
