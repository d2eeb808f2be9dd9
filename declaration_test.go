package aztablekit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// unhashable is a definition that cannot be the key of a map.
type unhashable []string

func (unhashable) Name() string                               { return "odd" }
func (unhashable) Define(*extend.Declaration[employee]) error { return nil }

// needy is a definition that needs parts.
type needy struct {
	parts func(table.Handle) (host.Parts, error)
}

func (*needy) Name() string                                   { return "needy" }
func (n *needy) Define(d *extend.Declaration[employee]) error { return host.Needs(d, n.parts) }

var errNeeds = errors.New("it needs more")

// TestFaults: a mistake in a declaration is returned by the methods of the store and of the handle, before anything is sent, and names the
// table and the definition.
func TestFaults(t *testing.T) {
	t.Parallel()
	type declare = func(s *aztablekit.Store) *table.Table[employee]
	plain := func(definitions ...aztablekit.Definition[employee]) declare {
		return func(s *aztablekit.Store) *table.Table[employee] {
			return aztablekit.Table(s, "staff", dept, empid, definitions...)
		}
	}
	twice := newUnique()
	var noSettings *aztablekit.Settings[employee]
	for what, test := range map[string]struct {
		declare declare
		want    string
	}{
		"a name that no table can have": {func(s *aztablekit.Store) *table.Table[employee] { return aztablekit.Table(s, "my_staff", dept, empid) }, "table my_staff: "},
		"a key that cannot be decoded": {func(s *aztablekit.Store) *table.Table[employee] {
			return aztablekit.Table(s, "staff", keys.Partition(keys.Fold(keys.Text()), func(e *employee) *string { return &e.Department }), empid)
		}, "use PartitionFunc or RowFunc"},
		"a type twice":            {func(s *aztablekit.Store) *table.Table[employee] { plain()(s); return plain()(s) }, "table staff: type aztablekit_test.employee is declared twice"},
		"nil":                     {plain(nil), "table staff: definitions[0] is nil"},
		"nil settings":            {plain(noSettings), "table staff: definitions[0] is nil"},
		"a duplicate name":        {plain(newUnique(), newUnique()), "table staff: definition email: "},
		"not comparable":          {plain(unhashable{}), "table staff: definition odd: definition cannot be compared"},
		"a layout that is nil":    {plain(index.New("last", nil, emailOf, nil)), "table staff: definition last: layout is nil"},
		"an effect without when":  {plain(eventual.On[employee, string]("mail", nil, nil)), "table staff: definition mail: when is nil"},
		"an effect without kind":  {plain(eventual.On("", isNew, nil)), "table staff: definition : "},
		"two effects of one kind": {plain(eventual.On("mail", isNew, nil), eventual.On("mail", isNew, nil)), "table staff: definition mail: "},
		"a kind of another type": {func(s *aztablekit.Store) *table.Table[employee] {
			aztablekit.Table(s, "staff", badgeDept, badgeNo, eventual.On("mail", func(*eventual.Change[badge]) (int, bool) { return 0, true }, nil))
			return plain(eventual.On("mail", isNew, nil))(s)
		}, "table staff: definition mail: definition has the name of a definition of type aztablekit_test.badge of the table"},
		"an index name of another type": {func(s *aztablekit.Store) *table.Table[employee] {
			aztablekit.Table(s, "staff", badgeDept, badgeNo, index.New("email", keys.Text(), func(*badge) (string, bool) { return "", false }, nil))
			return plain(newUnique())(s)
		}, "table staff: definition email: definition has the name of a definition of type aztablekit_test.badge"},
		"a name that is not an index's": {plain(newUnique(), eventual.On("email", isNew, nil)), "table staff: definition email: definition has the name of another definition"},
		"rows of two types in one range": {func(s *aztablekit.Store) *table.Table[employee] {
			aztablekit.Table(s, "staff", badgeDept, keys.Row(keys.Digits[int](4).Named("empid"), func(b *badge) *int { return &b.Number }))
			return plain()(s)
		}, "table staff: type aztablekit_test.employee has rows in"},
		"an index in the rows of another type": {func(s *aztablekit.Store) *table.Table[employee] {
			aztablekit.Table(s, "staff", badgeDept, badgeNo)
			return plain(index.New("badge", keys.Text(), emailOf, nil))(s)
		}, "table staff: type aztablekit_test.employee has rows in"},
		"an index in the rows of another type that has a name": {func(s *aztablekit.Store) *table.Table[employee] {
			aztablekit.Table(s, "staff", badgeDept, badgeNo, &aztablekit.Settings[badge]{Schema: table.Schema[badge]{Type: "badge"}})
			return plain(index.New("badge", keys.Text(), emailOf, nil), &aztablekit.Settings[employee]{Schema: table.Schema[employee]{Type: "employee"}})(s)
		}, "table staff: type aztablekit_test.employee has rows in"},
		"rows in those of an index of another type that has a name": {func(s *aztablekit.Store) *table.Table[employee] {
			byNumber := index.New("empid", keys.Digits[int](6), func(b *badge) (int, bool) { return b.Number, true }, nil)
			aztablekit.Table(s, "staff", badgeDept, badgeNo, byNumber, &aztablekit.Settings[badge]{Schema: table.Schema[badge]{Type: "badge"}})
			return plain(&aztablekit.Settings[employee]{Schema: table.Schema[employee]{Type: "employee"}})(s)
		}, "table staff: type aztablekit_test.employee has rows in"},
		"a global index in the table and the rows of another type": {func(s *aztablekit.Store) *table.Table[employee] {
			aztablekit.Table(s, "staff", badgeDept, badgeNo)
			return plain(index.NewUnique("badge", keys.Text(), emailOf, &index.UniqueOptions{Table: "staff"}))(s)
		}, "table staff: type aztablekit_test.employee has rows in"},
		"global indexes of two types in one range": {func(s *aztablekit.Store) *table.Table[employee] {
			number := index.NewUnique("number", keys.Text().Named("x"), func(*badge) (string, bool) { return "", false }, &index.UniqueOptions{Table: "shared"})
			aztablekit.Table(s, "staff", badgeDept, badgeNo, number)
			return plain(index.NewUnique("email", keys.Text().Named("x"), emailOf, &index.UniqueOptions{Table: "shared"}))(s)
		}, "table staff: type aztablekit_test.employee has rows in"},
		"copies of a field that is nil": {plain(index.New("email", keys.Text(), emailOf, nil).Only(nil)), "definition email: Only has a field 0 that is nil"},
		"one table of the indexes of two": {func(s *aztablekit.Store) *table.Table[employee] {
			elsewhere := func() *index.Global[employee, string] {
				return index.NewGlobal("email", keys.Text(), emailOf, &index.GlobalOptions{Table: "Emails"})
			}
			aztablekit.Table(s, "former", dept, empid, elsewhere())
			return plain(elsewhere())(s)
		}, "table staff: table emails belongs to table former"},
		"a table in that of a log": {func(s *aztablekit.Store) *table.Table[employee] {
			logtail.New[badge](s, "staff", nil)
			return plain()(s)
		}, "table staff: table staff belongs to log staff"},
		"an error of what a definition needs": {plain(&needy{parts: func(table.Handle) (host.Parts, error) {
			return host.Parts{}, errNeeds
		}}), "table staff: definition needy: it needs more"},
		"zero definitions": {plain(&index.Lists[employee, string]{}), "table staff: definition : "},
		"a zero summary":   {plain(&index.Summary[employee, string]{}), "table staff: definition : "},
		"zero values":      {plain(&largeentity.Values[employee]{}), "table staff: definition large values: "},
		"a kind of an effect of another type": {func(s *aztablekit.Store) *table.Table[employee] {
			aztablekit.Table(s, "staff", badgeDept, badgeNo, eventual.On("mail", func(*eventual.Change[badge]) (int, bool) { return 0, true }, nil))
			return plain(&needy{parts: func(table.Handle) (host.Parts, error) {
				return host.Parts{Handlers: []host.Handler{{Kind: "mail"}}}, nil
			}})(s)
		}, "table staff: effect mail is that of an effect of type aztablekit_test.badge"},
		"keys in the settings":   {plain(&aztablekit.Settings[employee]{Schema: table.Schema[employee]{Row: empid}}), "table staff: Settings.Schema has keys"},
		"settings twice":         {plain(&aztablekit.Settings[employee]{}, &aztablekit.Settings[employee]{}), "table staff: definitions contain Settings twice"},
		"a version out of range": {plain(&aztablekit.Settings[employee]{Schema: table.Schema[employee]{Version: -1}}), "table staff: Schema.Version is -1"},
		"a definition of two tables": {func(s *aztablekit.Store) *table.Table[employee] {
			plain(twice)(s)
			return aztablekit.Table(s, "former", dept, empid, twice)
		}, "table former: definition email: definition is one of table staff, too"},
		"a view of a faulty table": {func(s *aztablekit.Store) *table.Table[employee] {
			return plain(materialized.New("all", aztablekit.Table(s, "a b", dept, empid), func(e *employee, _ keys.Key) (employee, bool) { return *e, true }))(s)
		}, "table staff: definition all: "},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			service := storagetest.New(nil)
			// Retire of a table without a fault waits longer.
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			s := aztablekit.Open(service, "company", nil)
			staff := test.declare(s)
			_, inserted := staff.Insert(ctx, &employee{Department: "Sales", ID: 1})
			_, verified := s.Verify(ctx, nil)
			_, backlog := s.Backlog(ctx)
			_, poison := s.Poison()
			_, filled := s.Fill(ctx, nil)
			_, notified := s.NotifyPending(ctx, "staff", 0, nil)
			if inserted == nil || !strings.Contains("table "+strings.TrimPrefix(inserted.Error(), "table: Insert "), test.want) {
				t.Errorf("Insert: got %v; want %q", inserted, test.want)
			}
			for method, err := range map[string]error{
				"Ensure": s.Ensure(ctx), "Run": s.Run(endedContext(t)), "Drain": s.Drain(ctx),
				"RunDaily": s.RunDaily(ctx), "Verify": verified, "Ready": s.Ready(), "Err": s.Err(),
				"Backlog": backlog, "Poison": poison, "Fill": filled,
				"Retire": s.Retire(ctx, "staff", "email", nil), "NotifyPending": notified,
			} {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: got %v; want %q", method, err, test.want)
				}
			}
			if n := service.Count().Total(); n != 0 {
				t.Errorf("got %d requests; want none", n)
			}
		})
	}
}

// TestAllFaults: all mistakes of all tables are returned at once, and the handle of a table returns its own.
func TestAllFaults(t *testing.T) {
	t.Parallel()
	s := aztablekit.Open(storagetest.New(nil), "company", nil)
	staff := aztablekit.Table(s, "staff", dept, empid, aztablekit.Definition[employee](index.New("last", nil, emailOf, nil)), nil, eventual.On("", isNew, nil))
	aztablekit.Table(s, "my_badges", badgeDept, badgeNo)
	_, inserted := staff.Insert(t.Context(), &employee{Department: "Sales", ID: 1})
	own := []string{"definition last: layout is nil", "definitions[1] is nil", "definition : "}
	for method, test := range map[string]struct {
		got  error
		want []string
	}{"Insert": {inserted, own}, "Ensure": {s.Ensure(t.Context()), append(own, "table my_badges: ")}, "Err": {s.Err(), append(own, "table my_badges: ")}} {
		for _, want := range test.want {
			if test.got == nil || !strings.Contains(test.got.Error(), want) {
				t.Errorf("%s: got %v; want %q in it", method, test.got, want)
			}
		}
	}
}

// TestUnusableStores: a store that cannot be opened says so in all that is declared in it.
func TestUnusableStores(t *testing.T) {
	t.Parallel()
	var none *account.Account
	for want, s := range map[string]*aztablekit.Store{
		"acc is nil": aztablekit.Open(none, "company", nil),
		"store My Company: name is \"My Company\"; it must": aztablekit.Open(storagetest.New(nil), "My Company", nil),
		"company\"; it must be letters":                     aztablekit.Open(storagetest.New(nil), strings.Repeat("a", 50)+"company", nil),
		"Options.Prefix is":                                 aztablekit.Open(storagetest.New(nil), "company", &aztablekit.Options{Prefix: "1-"}),
		"s is nil":                                          nil,
		"a zero Store":                                      {},
		"WorkerOptions.Visibility":                          aztablekit.Open(storagetest.New(nil), "company", &aztablekit.Options{Worker: eventual.WorkerOptions{Visibility: -1}}),
	} {
		staff := aztablekit.Table(s, "staff", dept, empid)
		_, err := staff.Insert(t.Context(), &employee{Department: "Sales"})
		_, verified := s.Verify(t.Context(), nil)
		events := logtail.New[badge](s, "events", nil)
		photos, former := largeentity.In[employee]("photos", nil), archive.Into[employee]("former", archive.ToTable("former", nil))
		pictures := aztablekit.Table(s, "pictures", dept, empid, photos, former)
		_, opened := photos.Open(t.Context(), pictures, largeentity.Blob{})
		_, appended := events.Append(t.Context(), &badge{})
		all := []error{
			err, verified, s.Err(), s.Ensure(t.Context()), s.Run(endedContext(t)), s.Drain(t.Context()), s.RunDaily(t.Context()), s.Ready(),
			former.Archive(t.Context(), pictures, nil), appended, opened,
		}
		for _, err := range all {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v; want %q", err, want)
			}
		}
	}
}

// TestLateDeclaration: a table that is declared after the store was used would not be created, and its effects not executed.
func TestLateDeclaration(t *testing.T) {
	t.Parallel()
	s := aztablekit.Open(storagetest.New(nil), "company", nil)
	if err := s.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := aztablekit.Table(s, "staff", dept, empid).Insert(t.Context(), &employee{Department: "Sales", ID: 1})
	if want := "Insert staff: the declaration is too late"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v; want %q", err, want)
	}
}

// TestTypesWithNames: types whose rows are told apart by Schema.Type share a range of keys.
func TestTypesWithNames(t *testing.T) {
	t.Parallel()
	s := aztablekit.Open(storagetest.New(nil), "company", nil)
	aztablekit.Table(s, "staff", dept, empid, &aztablekit.Settings[employee]{Schema: table.Schema[employee]{Type: "employee"}})
	number := keys.Row(keys.Digits[int](6).Named("empid"), func(b *badge) *int { return &b.Number })
	aztablekit.Table(s, "staff", badgeDept, number, &aztablekit.Settings[badge]{Schema: table.Schema[badge]{Type: "badge"}})
	if err := s.Ensure(t.Context()); err != nil {
		t.Errorf("got %v; want none", err)
	}
}

// TestArgumentsAreNamed: the error of a store or a table that was made of a wrong argument names the
// argument, its value and the rule.
func TestArgumentsAreNamed(t *testing.T) {
	t.Parallel()
	ensure := func(name string) error {
		return aztablekit.Open(storagetest.New(nil), name, nil).Ensure(t.Context())
	}
	insert := func(s *aztablekit.Store, partition keys.AnyPartition[employee], row keys.AnyRow[employee]) error {
		_, err := aztablekit.Table(s, "staff", partition, row).Insert(t.Context(), &employee{"Sales", 1, "Jones", "", 1})
		return err
	}
	open := func() *aztablekit.Store { return aztablekit.Open(storagetest.New(nil), "company", nil) }
	const rule = "it must be letters in lower case, digits and single hyphens between them, at most 56 with the prefix"
	for want, err := range map[string]error{
		`store Company: name is "Company"; ` + rule: ensure("Company"),
		`store a--b: name is "a--b"; ` + rule:       ensure("a--b"),
		`store : name is ""; ` + rule:               ensure(""),
		"store company: acc is nil":                 aztablekit.Open(nil, "company", nil).Ensure(t.Context()),
		"s is nil or a zero Store":                  insert(nil, dept, empid),
		"PartitionKey: key is not made of any field: the table was declared with nil for this key": insert(open(), nil, empid),
		"RowKey: key is not made of any field: the table was declared with nil for this key":       insert(open(), dept, nil),
		"PartitionKey: key is of a zero value":                                                     insert(open(), new(keys.PartitionOf[employee, string]), empid),
		"RowKey: key is of a zero value":                                                           insert(open(), dept, (*keys.RowOf[employee, int])(nil)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error\n%v; want one with\n%s", err, want)
		}
	}
}
