package materialized_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestVerifyRefused: if the service refuses any one request, Verify returns the error, or a report that is not sound, or has done its
// work: a sound report is never wrong. The next run repairs the rest.
func TestVerifyRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, repair := range []bool{false, true} {
		s := newScene(t, setting{summary: true})
		for i := range 6 {
			s.insert(t, "Sales", i+1, 10)
		}
		s.drain(t)
		raw, err := bare.NewTable(s.account.Tables(), "company", table.Schema[table.Row]{}, &s.options)
		testkit.NoError(t, err)
		rows := door.Rows[table.Table[table.Row]](door.Table(raw), false)
		derived := func(id int) keys.Key { return s.company.Key(member{ID: id}) }
		salary := table.FieldOf(func(m *member) *int64 { return &m.Salary })
		damage := func() {
			_, err := s.base.Upsert(ctx, &employee{Department: "Sales", ID: 7, Salary: 10}, table.ReplaceExisting)
			testkit.NoError(t, err)
			testkit.NoError(t, s.company.DeleteAny(ctx, derived(1)))
			testkit.NoError(t, rows.DeleteAny(ctx, keys.Raw("company", "~v|"+derived(2).RowKey())))
			testkit.NoError(t, s.company.MergeAny(ctx, derived(3), salary.Set(99)))
		}
		errs := testkit.EachRefused(t, s.Service, fmt.Sprint("Verify with repair ", repair), damage, func() error {
			var re *azcore.ResponseError
			r, err := verify.Repair(ctx, s.staff, &verify.Options{Pass: table.Pass{DryRun: !repair}})
			switch {
			case err != nil && (!errors.As(err, &re) || re.StatusCode != 403):
				t.Errorf("repair %v: got error %v; want an *azcore.ResponseError with status 403", repair, err)
			case err == nil && r.Faults == 0 && consistent(s.Service) != nil:
				t.Errorf("repair %v: got a sound report %+v; want an error: %v", repair, r, consistent(s.Service))
			}
			s.SetFaults(nil)
			r, again := verify.Repair(ctx, s.staff, nil)
			if again != nil || r.Faults > 0 {
				t.Errorf("repair %v: the next run: got report %+v, error %v; want a sound report", repair, r, again)
			}
			s.expectConsistent(t)
			return err
		})
		if errors.Join(errs...) == nil {
			t.Errorf("repair %v: got %d runs without an error; want some that fail", repair, len(errs))
		}
	}
}
