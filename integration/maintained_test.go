package integration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// byMail keeps a full copy of each employee under its e-mail address, which nobody else has in the department.
type byMail struct{}

var errTaken = errors.New("the address is taken")

func (byMail) Name() string { return "mail" }
func (byMail) MaxRows() int { return 2 }
func (byMail) Maintain(_ context.Context, p *table.Plan, c *table.Change[employee]) error {
	is := ""
	if c.New != nil && c.New.Email != "" {
		is = "mail_" + c.New.Email
		c.SetState(is)
	}
	kept := false
	for _, was := range c.State() {
		if kept = was == is; !kept {
			if err := p.Remove(keys.Raw(was)); err != nil {
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
	row = row.At(keys.At(c.Key.Partition(), keys.Raw(is)))
	if kept {
		return p.Put(row)
	}
	return p.Insert(row, errTaken)
}

// maintained: derived rows follow every verb, in its one request; shared and unique ones change hands in one transaction.
func maintained(e *env) {
	ctx := context.Background()
	plain := open(e, staffSchema, nil)
	staff, err := plain.With(nil, byMail{})
	e.must(err)
	rows := same(e, plain, table.Schema[table.Row]{})
	stored := func(want ...string) {
		e.Helper()
		var got []string
		for r, err := range rows.List(ctx, table.Query[table.Row]{TableScan: true}) {
			e.must(err)
			last, _ := r.Value.Get("LastName")
			got = append(got, fmt.Sprint(r.Key.RowKey(), " ", last))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			e.Errorf("%q, not %q", got, want)
		}
		e.counter.Take()
	}
	e.counter.Take()
	one, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Last: "O'Brien", Email: "o'brien@x"})
	e.must(err)
	e.did("1 transaction")
	stored("empid_000001 O'Brien", "mail_o'brien@x O'Brien")
	two, err := staff.Upsert(ctx, &employee{Department: "Sales", ID: 2, Last: "Cao", Email: "c@x"}, table.MergeExisting)
	e.must(err)
	e.did("1 get, 1 transaction")
	e.must(staff.Merge(ctx, one, last.Set("Jones")))
	e.did("1 transaction")
	stored("empid_000001 Jones", "empid_000002 Cao", "mail_c@x Cao", "mail_o'brien@x Jones")

	// Taken; and then it changes hands.
	err = staff.Merge(ctx, one, mail.Set("c@x"))
	var de *table.DerivedError
	if !errors.Is(err, errTaken) || !errors.As(err, &de) || de.Key.RowKey() != "mail_c@x" {
		e.Errorf("%v", err)
	}
	two, err = staff.Get(ctx, two.Key)
	e.must(err)
	e.counter.Take()
	_, err = table.Transact(ctx, staff.MergeOp(one, mail.Set("c@x")), staff.MergeOp(two, mail.Set("o'brien@x")))
	e.must(err)
	e.did("1 transaction")
	stored("empid_000001 Jones", "empid_000002 Cao", "mail_c@x Jones", "mail_o'brien@x Cao")

	// A derived row that somebody has deleted is repaired.
	e.must(rows.DeleteAny(ctx, keys.At(dept.Of("Sales"), keys.Raw("mail_c@x"))))
	e.must(staff.Merge(ctx, one, last.Set("Smith")))
	if staff.Repaired() != 1 {
		e.Errorf("%d", staff.Repaired())
	}
	stored("empid_000001 Smith", "empid_000002 Cao", "mail_c@x Smith", "mail_o'brien@x Cao")
	if err := plain.Delete(ctx, one); !errors.Is(err, table.ErrUnknownMaintainer) {
		e.Errorf("%v", err)
	}
	r, err := staff.DeleteQuery(ctx, table.Query[employee]{Partition: dept.Of("Sales")}, nil)
	e.must(err)
	if r.Done != 2 {
		e.Errorf("%+v", r)
	}
	e.did("1 query, 1 transaction")
	stored()
}

// exact: the intent stands beside the entity, tells of its write, and is in nobody's way.
func exact(e *env) {
	ctx := context.Background()
	staff := open(e, staffSchema, nil).Exact()
	e.counter.Take()
	v := jones
	worker, err := staff.Insert(ctx, &v)
	e.must(err)
	e.did("1 transaction")
	e.must(staff.Merge(ctx, worker, age.Set(45)))
	e.did("1 transaction")
	if _, err := staff.Insert(ctx, &v); !errors.Is(err, table.ErrExists) {
		e.Errorf("%v", err)
	}
	e.did("1 insert, 1 transaction")
	e.must(staff.Delete(ctx, worker))
	states := map[table.CommitState]int{}
	var op string
	for i, err := range staff.CommitRecords().List(ctx, dept.Of("Sales"), time.Now().Add(time.Hour)) {
		e.must(err)
		if states[i.State]++; i.State == table.CommitDone {
			op = i.OperationID
		}
	}
	if states[table.CommitDone] != 3 || states[table.CommitAborted] != 1 {
		e.Errorf("%v", states)
	}
	e.counter.Take()
	i, err := staff.CommitRecords().Resolve(ctx, dept.Of("Sales"), op)
	e.must(err)
	e.did("1 get")
	if i.State != table.CommitDone {
		e.Errorf("%v", i)
	}
	i, err = staff.CommitRecords().Resolve(ctx, dept.Of("Sales"), op[:10]+"0123456789ABCDEF")
	e.must(err)
	if i.State != table.CommitAborted {
		e.Errorf("%v", i)
	}
	n, err := staff.Count(ctx, table.Query[employee]{TableScan: true})
	e.must(err)
	if n != 0 {
		e.Errorf("%d", n)
	}
}

// bulk: many operations in few requests, whatever is there already.
func bulk(e *env) {
	ctx := context.Background()
	staff := open(e, staffSchema, blind())
	e.counter.Take()
	load := func(op func(i int) table.Op) table.BulkResult {
		r, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for i := range 1000 {
				if !yield(op(i), nil) {
					return
				}
			}
		}, nil)
		e.must(err)
		return r
	}
	r := load(func(i int) table.Op {
		return staff.UpsertOp(&employee{Department: []string{"Sales", "O'Neil"}[i%2], ID: i, Age: int32(i)}, table.ReplaceExisting)
	})
	e.did("10 transaction")
	if r != (table.BulkResult{Done: 1000, ResumeAt: 1000}) {
		e.Errorf("%+v", r)
	}
	deleted, err := staff.DeleteQuery(ctx, table.Query[employee]{Partition: dept.Of("O'Neil"), Where: age.Lt(500)}, nil)
	e.must(err)
	if deleted.Done != 250 {
		e.Errorf("%+v", deleted)
	}
	e.counter.Take()
	r = load(func(i int) table.Op { return staff.DeleteAnyOp(at([]string{"Sales", "O'Neil"}[i%2], i)) })
	if r != (table.BulkResult{Done: 750, Missing: 250, ResumeAt: 1000}) {
		e.Errorf("%+v", r)
	}
	n, err := staff.Count(ctx, table.Query[employee]{TableScan: true})
	e.must(err)
	if n != 0 {
		e.Errorf("%d", n)
	}
}
