package integration

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// mailMaintainer maintains a full copy of each employee under the e-mail address, which is unique in the department.
type mailMaintainer struct{}

var errTaken = errors.New("the address is taken")

func (mailMaintainer) Name() string { return "mail" }
func (mailMaintainer) MaxRows() int { return 2 }
func (mailMaintainer) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	is := ""
	if c.New != nil && c.New.Email != "" {
		is = "mail_" + c.New.Email
		c.SetState(is)
	}
	stored := false
	for _, was := range c.State() {
		if stored = was == is; !stored {
			if err := p.Remove(keys.RawRow(was)); err != nil {
				return err
			}
		}
	}
	if is == "" {
		return nil
	}
	row, err := c.Row()
	if err != nil {
		return err
	}
	row = row.At(keys.At(c.Key.Partition(), keys.RawRow(is)))
	if stored {
		return p.Put(row)
	}
	return p.Insert(row, errTaken)
}

// maintainedRows: each write updates derived rows in its transaction. One transaction can swap unique derived rows.
func maintainedRows(e *env) {
	ctx := context.Background()
	base := newTable(e, staffSchema, nil)
	staff, err := bare.With(base, mailMaintainer{})
	e.must(err)
	rows := sameTable(e, base, table.Schema[table.Row]{})
	stored := func(want ...string) {
		e.Helper()
		var got []string
		for r, err := range rows.List(ctx, table.Query[table.Row]{TableScan: true}) {
			e.must(err)
			last, _ := r.Value.Get("LastName")
			got = append(got, fmt.Sprint(r.Key.RowKey(), " ", last))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			e.Errorf("stored rows: got %q; want %q", got, want)
		}
		e.counter.Take()
	}
	e.counter.Take()
	one, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Last: "O'Brien", Email: "o'brien@x"})
	e.must(err)
	e.wantRequests("1 transaction")
	stored("empid_000001 O'Brien", "mail_o'brien@x O'Brien")
	two, err := staff.Upsert(ctx, &employee{Department: "Sales", ID: 2, Last: "Cao", Email: "c@x"}, table.MergeExisting)
	e.must(err)
	e.wantRequests("1 get, 1 transaction")
	e.must(staff.Merge(ctx, one, last.Set("Jones")))
	e.wantRequests("1 transaction")
	stored("empid_000001 Jones", "empid_000002 Cao", "mail_c@x Cao", "mail_o'brien@x Jones")

	// The address belongs to another employee; then both employees swap their addresses.
	err = staff.Merge(ctx, one, mail.Set("c@x"))
	var de *table.DerivedError
	if !errors.Is(err, errTaken) || !errors.As(err, &de) || de.Key.RowKey() != "mail_c@x" {
		e.Errorf("Merge with a taken address: got error %v; want a *DerivedError of mail_c@x", err)
	}
	two, err = staff.Get(ctx, two.Key)
	e.must(err)
	e.counter.Take()
	_, err = table.Transact(ctx, staff.MergeOp(one, mail.Set("c@x")), staff.MergeOp(two, mail.Set("o'brien@x")))
	e.must(err)
	e.wantRequests("1 transaction")
	stored("empid_000001 Jones", "empid_000002 Cao", "mail_c@x Jones", "mail_o'brien@x Cao")

	// The next write repairs a derived row that was deleted.
	e.must(rows.DeleteAny(ctx, keys.At(dept.PartitionKey("Sales"), keys.RawRow("mail_c@x"))))
	e.must(staff.Merge(ctx, one, last.Set("Smith")))
	if baretest.Repaired(staff) != 1 {
		e.Errorf("Repaired: got %d; want 1", baretest.Repaired(staff))
	}
	stored("empid_000001 Smith", "empid_000002 Cao", "mail_c@x Smith", "mail_o'brien@x Cao")
	if err := base.Delete(ctx, one); !errors.Is(err, table.ErrNotDeclared) {
		e.Errorf("Delete without the maintainer: got error %v; want ErrUnknownMaintainer", err)
	}
	r, err := table.BulkDelete(ctx, staff, table.Query[employee]{Partition: dept.PartitionKey("Sales")}, nil)
	e.must(err)
	if r.Changed != 2 {
		e.Errorf("DeleteQuery: got %+v; want 2 done", r)
	}
	e.wantRequests("1 query, 1 transaction")
	stored()
}
