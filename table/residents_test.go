package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// resident is an entity with two kinds of derived rows: by e-mail address, which is unique in the partition, and by last name,
// as a list.
type resident struct {
	Dept  string
	ID    int
	Last  string
	Email string
}

var (
	residentID   = keys.Row(keys.Digits[int](6).Named("p"), func(p *resident) *int { return &p.ID })
	peopleSchema = table.Schema[resident]{
		Partition: keys.Partition(dept, func(p *resident) *string { return &p.Dept }),
		Row:       residentID,
	}
	lastName = table.FieldOf(func(p *resident) *string { return &p.Last })
	eMail    = table.FieldOf(func(p *resident) *string { return &p.Email })
)

// residentAt returns the key of a resident.
func residentAt(id int) keys.Key { return keys.At(dept.PartitionKey("S"), residentID.Of(id)) }

var errTaken = errors.New("the e-mail address is taken")

// byEmail keeps a full copy of each resident under the resident's unique e-mail address. One entity owns each row. With names, the row
// names its owner, as those of package index do.
type byEmail struct{ names bool }

func (byEmail) Name() string { return "email" }
func (byEmail) MaxRows() int { return 2 }
func (m byEmail) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	var was, is string
	if r := c.State(); len(r) > 0 {
		was = r[0]
	}
	if c.New != nil && c.New.Email != "" {
		is = "email_" + c.New.Email
		c.SetState(is)
	}
	if was != "" && was != is {
		if err := p.Remove(keys.RawRow(was)); err != nil {
			return err
		}
	}
	if is == "" {
		return nil
	}
	row, err := c.Row()
	if err != nil {
		return err
	}
	at := keys.At(keys.RawPartition(c.Key.PartitionKey()), keys.RawRow(is))
	if m.names {
		row = row.Copy(at)
	} else {
		row = row.At(at)
	}
	if was == is {
		return p.Put(row)
	}
	return p.Insert(row, errTaken)
}

// byLast keeps the IDs of all residents with a last name in one row. Several entities share each row.
type byLast struct{}

func (byLast) Name() string { return "last" }
func (byLast) MaxRows() int { return 2 }
func (byLast) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	edit := func(last string, id int, add bool) error {
		k := keys.At(keys.RawPartition(c.Key.PartitionKey()), keys.RawRow("last_"+last))
		r, err := p.Load(ctx, k.Row())
		if err != nil {
			return err
		}
		var ids []string
		if r != nil {
			s, _ := r.Get("IDs")
			ids = strings.Fields(s.(string))
		}
		text := fmt.Sprint(id)
		ids = slices.DeleteFunc(ids, func(s string) bool { return s == text })
		if add {
			ids = append(ids, text)
		}
		if len(ids) == 0 {
			return p.Remove(k.Row())
		}
		slices.Sort(ids)
		r = &table.Row{Key: k}
		if err := r.Set("IDs", strings.Join(ids, " ")); err != nil {
			return err
		}
		return p.Put(r)
	}
	if c.Old != nil && (c.New == nil || c.New.Last != c.Old.Last) {
		if err := edit(c.Old.Last, c.Old.ID, false); err != nil {
			return err
		}
	}
	if c.New != nil && (c.Old == nil || c.New.Last != c.Old.Last) {
		return edit(c.New.Last, c.New.ID, true)
	}
	return nil
}

// letters adds an effect for each new last name: a letter that a worker writes into another table.
type letters struct{}

type letter struct {
	ID                int
	Last, Incarnation string
}

func (letters) Name() string { return "letters" }
func (letters) MaxRows() int { return 0 }
func (letters) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	if c.New == nil || c.Old != nil && c.Old.Last == c.New.Last {
		return nil
	}
	b, err := json.Marshal(letter{c.New.ID, c.New.Last, c.Incarnation()})
	p.Effect("letter", 1, b)
	return err
}

// tableOutbox is an outbox in a table, with a row for each notification. That of package eventual is a queue.
type tableOutbox struct{ rows *table.Table[table.Row] }

type tableNotification struct {
	rows *table.Table[table.Row]
	e    *table.Entity[table.Row]
}

// newTableOutbox opens the table of notifications.
func newTableOutbox(s engine.Service, o *table.Options) (*tableOutbox, error) {
	rows, err := bare.NewTable(s, "notifications", table.Schema[table.Row]{}, o)
	return &tableOutbox{rows}, err
}

func (h *tableOutbox) Notify(ctx context.Context, a commit.Notification) (commit.SentNotification, error) {
	r := &table.Row{Key: keys.At(keys.RawPartition(a.Partition), keys.RawRow(a.OperationID))}
	if err := r.Set("Visible", false); err != nil {
		return nil, err
	}
	e, err := h.rows.Insert(ctx, r)
	if err != nil {
		return nil, err
	}
	return &tableNotification{h.rows, e}, nil
}

func (h *tableNotification) Show(ctx context.Context) error {
	return h.rows.Merge(ctx, h.e, table.PropertyOf[bool]("Visible").Set(true))
}

func (h *tableNotification) Withdraw(ctx context.Context) error {
	return h.rows.DeleteAny(ctx, h.e.Key)
}

// drain executes the effects of all notifications, visible or not, as a worker does once the time of the write is over.
func (h *tableOutbox) drain(ctx context.Context, people *table.Table[resident], sent *table.Table[table.Row]) error {
	for e, err := range h.rows.List(ctx, table.Query[table.Row]{TableScan: true}) {
		if err != nil {
			return err
		}
		i, err := records.Of(people).Resolve(ctx, e.Key.Partition(), e.Key.RowKey())
		if err != nil {
			return err
		}
		if i.State == commit.Pending {
			for _, f := range i.Effects {
				var l letter
				if err := json.Unmarshal(f.Payload, &l); err != nil {
					return err
				}
				r := &table.Row{Key: keys.At(keys.RawPartition(fmt.Sprint(l.ID)), keys.RawRow(i.OperationID))}
				if err := errors.Join(r.Set("Last", l.Last), r.Set("Incarnation", l.Incarnation)); err != nil {
					return err
				}
				if _, err := sent.Upsert(ctx, r, table.ReplaceExisting); err != nil {
					return err
				}
			}
			if err := records.Of(people).MarkDone(ctx, i); err != nil {
				return err
			}
		}
		if err := h.rows.DeleteAny(ctx, e.Key); err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
	}
	return nil
}

// checkDerivedRows reads all rows and returns an error unless the derived rows are those of the residents: a copy under each
// address, and a list for each last name.
func checkDerivedRows(s *storagetest.Service) error {
	want, got := map[string]string{}, map[string]string{}
	ids := map[string][]string{}
	for _, r := range s.Rows("people") {
		switch kind, rest, _ := strings.Cut(r.RowKey, "_"); kind {
		case "p":
			last, _ := r.Get("Last").(string)
			if mail, _ := r.Get("Email").(string); mail != "" {
				k := "email_" + mail
				if want[k] != "" {
					return fmt.Errorf("two residents have the address %s", mail)
				}
				want[k] = fmt.Sprint(last, " ", r.Get("Email"), " ", r.Get("_op"))
			}
			n := strings.TrimLeft(rest, "0")
			ids[last] = append(ids[last], n)
		case "email":
			got[r.RowKey] = fmt.Sprint(r.Get("Last"), " ", r.Get("Email"), " ", r.Get("_op"))
		case "last":
			got[r.RowKey] = fmt.Sprint(r.Get("IDs"))
		}
	}
	for last, all := range ids {
		slices.Sort(all)
		want["last_"+last] = strings.Join(all, " ")
	}
	for k, v := range want {
		if got[k] != v {
			return fmt.Errorf("row %s: got %q; want %q", k, got[k], v)
		}
	}
	for k, v := range got {
		if want[k] != v {
			return fmt.Errorf("row %s: got %q; want no row", k, v)
		}
	}
	return nil
}

// newTown returns a table of residents with both maintainers of derived rows, in a service of its own.
func newTown(t testing.TB, o *table.Options) (people *table.Table[resident], s *testkit.Hooked) {
	t.Helper()
	s = &testkit.Hooked{Service: storagetest.New(nil)}
	people = peopleOf(t, s, o)
	noError(t, tabledoor.Ensure(context.Background(), people))
	people, err := bare.With(people, byLast{}, byEmail{})
	noError(t, err)
	s.Count()
	return people, s
}

// openPeople opens the table of residents of an account. It has no maintainers.
func openPeople(open path, a account.Transport, o *table.Options) (*table.Table[resident], error) {
	service, err := open(a)
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = noWaitOptions()
	}
	return bare.NewTable(service, "people", peopleSchema, o)
}

// peopleOf opens the table of residents of an account. It has no maintainers.
func peopleOf(t testing.TB, a account.Transport, o *table.Options) *table.Table[resident] {
	t.Helper()
	people, err := openPeople(openService, a, o)
	noError(t, err)
	return people
}

// insertAll inserts residents and resets the request count.
func insertAll(t testing.TB, people *table.Table[resident], s *testkit.Hooked, all ...resident) (es []*table.Entity[resident]) {
	t.Helper()
	for _, p := range all {
		e, err := people.Insert(context.Background(), &p)
		noError(t, err)
		es = append(es, e)
	}
	s.Count()
	return es
}

// storedPeople returns the stored rows as text.
func storedPeople(s *testkit.Hooked) string { return fmt.Sprintf("%+v", s.Rows("people")) }

// residentRows opens the table of residents as rows, without maintainers.
func residentRows(t testing.TB, s *testkit.Hooked) *table.Table[table.Row] {
	t.Helper()
	rows, err := bare.NewTable(serviceOf(t, s), "people", table.Schema[table.Row]{}, noWaitOptions())
	noError(t, err)
	return rows
}

// residentRow returns a row in the residents' partition.
func residentRow(t testing.TB, row string, columns map[string]any) *table.Row {
	t.Helper()
	r := &table.Row{Key: keys.At(keys.RawPartition("S"), keys.RawRow(row))}
	for name, v := range columns {
		noError(t, r.Set(name, v))
	}
	return r
}

// changeResident changes a resident so that both derived rows move and a letter is due.
func changeResident(v *resident, to, mail string) error {
	v.Last, v.Email = to, mail
	return nil
}
