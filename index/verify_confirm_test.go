package index_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestReassignedIsConfirmed: a unique row is taken from an entity only after the entity was read again, because another program may
// have changed it.
func TestReassignedIsConfirmed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	// run repairs a row that names worker 2, who does not have the value, which worker 1 should have, and changes worker 2 before a
	// request. The row is written after the snapshot, so that the confirmation of worker 1 finds it.
	run := func(before_ int) (urls []string, owner string) {
		staff, s := newStaff(t, byEmail)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Cao", "", 40, nil})
		changeRaw(t, s, 1, "Email", "a")
		rows := rawTable(t, s)
		src, err := tabledoor.GetRow(ctx, rows, at(2))
		check(t, err)
		check(t, src.Set("Email", "a"))
		b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
			switch urls = append(urls, r.Method+" "+r.URL.Path); len(urls) - 1 {
			case 1: // the list of entities
				_, err := door.Rows[table.Table[table.Row]](door.Table(rows), false).InsertAt(ctx, rowAt("email_a"), (*table.Row)((*stored.Row)(src).WithoutSystemProperties()).Copy(rowAt("email_a")))
				testkit.Expect(t, "error of the insert of row email_a", err, nil)
			case before_:
				changeProperty(t, rows, 2, "Email", "a")
			}
		}}
		slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), byEmail)
		check(t, err)
		_, err = verify.Repair(ctx, slow, &verify.Options{Pass: table.Pass{Partitions: sales.Point()}}, byEmail)
		check(t, err)
		row, err := tabledoor.GetRow(ctx, staff, rowAt("email_a"))
		check(t, err)
		k, _ := (*stored.Row)(row).Primary()
		return urls, k.RowKey()
	}
	urls, owner := run(-1)
	testkit.Expect(t, "owner", owner, "w_000001")
	tried := 0
	for i := 1; i+1 < len(urls); i++ {
		if strings.Contains(urls[i-1], "w_000002") && strings.Contains(urls[i], "email_a") && strings.Contains(urls[i+1], "w_000002") {
			tried++
			if _, owner := run(i); owner != "w_000002" {
				t.Errorf("value written before request %d of %q: got owner %s; want w_000002, which has the value", i, urls, owner)
			}
		}
	}
	if tried == 0 {
		t.Errorf("requests: got %q; want w_000002, email_a and w_000002 again in this order", urls)
	}
}

// TestTypesOfCopies: a copy with a value of another type than its entity is stale.
func TestTypesOfCopies(t *testing.T) {
	t.Parallel()
	for row, definition := range map[string]string{"email_a": "email", "age_030_w_000001": "age", "~x|tag_x_w_000001": "tag"} {
		for _, v := range []any{30, "30"} {
			staff, s := newStaff(t, copyDefinitions()...)
			insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, []string{"x"}})
			overwrite(t, s, rowAt(row), func(m map[string]any) {
				delete(m, "Age@odata.type")
				m["Age"] = v
			})
			for _, repair := range []bool{false, true} {
				r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, copyDefinitions()...)
				if r.Counts[verify.Stale] != 1 || !f[definition+" stale "+row+" w_000001"] || (r.Faults == 0) != repair {
					t.Errorf("%s with %T, repair %v: got %+v and faults %v, sound %v; want one stale row, which is %s, and sound %v", row, v, repair, r, f, r.Faults == 0, row, repair)
				}
			}
			right(t, s)
		}
	}
}

// TestOrderOfFaults: Options.Fault gets the faults of an entity in the order of its definitions and rows.
func TestOrderOfFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	// In the order of the RowKeys, the row of byLast would be the first.
	want := []string{"~x|tag_a_w_000001", "~x|tag_b_w_000001", "~x|tag_c_w_000001", "last_Jones!_w_000001"}
	staff, s := newStaff(t, byTag, byLast)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, []string{"a", "b", "c"}})
	for _, k := range want {
		check(t, rawTable(t, s).DeleteAny(ctx, rowAt(k)))
	}
	testkit.Expect(t, "rows beside the entity", len(s.Rows("staff")), 1)
	for _, repair := range []bool{false, true} {
		var got []string
		_, err := verify.Repair(ctx, staff, &verify.Options{Pass: table.Pass{DryRun: !repair}, Fault: func(f verify.Fault) { got = append(got, f.Row.RowKey()) }}, byTag, byLast)
		check(t, err)
		if !slices.Equal(got, want) {
			t.Errorf("repair %v: got %q; want %q", repair, got, want)
		}
	}
}
