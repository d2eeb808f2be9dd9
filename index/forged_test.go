package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// forgedRow is a row of partition evil as the holder of a signature for that partition writes it. An empty RowKey stands for the row of
// an entity there.
type forgedRow struct {
	rowKey     string
	properties map[string]any
}

// forgery is a set of rows.
type forgery struct {
	name string
	rows []forgedRow
}

// forgeries are a value of each EDM type in each system property of an entity, rows under each reserved prefix, and marks with
// preparations and commit records beside them.
func forgeries(now time.Time) (all []forgery) {
	op := commit.IDTime(now) + "0123456789ABCDEF"
	values := map[string]map[string]any{
		"empty":  {"P": ""},
		"text":   {"P": "x"},
		"long":   {"P": strings.Repeat("é", 31<<10)},
		"int32":  {"P": 7},
		"int64":  {"P": "9007199254740993", "P@odata.type": "Edm.Int64"},
		"double": {"P": 1.5, "P@odata.type": "Edm.Double"},
		"bool":   {"P": true},
		"binary": {"P": "AA==", "P@odata.type": "Edm.Binary"},
		"guid":   {"P": "00000000-0000-0000-0000-000000000000", "P@odata.type": "Edm.Guid"},
	}
	for _, property := range reserved.Properties {
		for _, kind := range slices.Sorted(maps.Keys(values)) {
			row := map[string]any{}
			for name, v := range values[kind] {
				row[strings.Replace(name, "P", property, 1)] = v
			}
			all = append(all, forgery{property + " " + kind, []forgedRow{{"", row}}})
		}
	}
	contents := map[string]map[string]any{
		"bare":     {},
		"newer":    {reserved.Version: 99, "State": "pending"},
		"pending":  {reserved.Version: 1, "State": "pending", "Home": "nosuchtable/x", "Rows": `[{"row":"w_000009","fate":"part"}]`},
		"not JSON": {reserved.Version: 1, "State": "pending", "Home": "staff/S", "Rows": "[", "Effects": "["},
		"done":     {reserved.Version: 1, "State": "done"},
		"owned":    {reserved.Owner: "w_000001", "Email": "x"},
		"mark":     {reserved.Mark: op + "/nosuchtable/x/insert/0/"},
	}
	for _, prefix := range []string{reserved.First, reserved.CommitRecord, reserved.ScheduledSweep, reserved.Derived, reserved.Tombstone, reserved.Blob, reserved.Prepared, reserved.View, reserved.Holder, reserved.Restored} {
		for _, suffix := range []string{"", "x", op, op + "|01", "2020010101", "w_000009"} {
			for _, kind := range slices.Sorted(maps.Keys(contents)) {
				all = append(all, forgery{fmt.Sprintf("row %s%s %s", prefix, suffix, kind), []forgedRow{{prefix + suffix, contents[kind]}}})
			}
		}
	}
	homes := []string{"nosuchtable/x", "stafflogin/x", "nosuchtable/", "staff/", "staff/S", "staff/evil", "staff/new", "staff/" + strings.Repeat("x", 2000), "staff/a?b", "staff/~"}
	for _, home := range homes {
		for _, fate := range []string{"insert", "replace", "delete", "part", "other"} {
			for _, beside := range []string{"nothing", "preparation", "other home", "newer preparation", "too many rows", "committed", "newer record"} {
				at, pk, _ := strings.Cut(home, "/")
				rows := []forgedRow{{"", map[string]any{reserved.Mark: strings.Join([]string{op, at, pk, fate, "1", "x"}, "/")}}}
				prepared := map[string]any{reserved.Version: 1, "State": "pending", "Home": home,
					"Rows": fmt.Sprintf(`[{"row":"w_000009","fate":%q,"image":1},{"row":"w_000008","fate":"part"}]`, fate)}
				switch beside {
				case "preparation", "committed", "newer record":
				case "other home":
					prepared["Home"] = "elsewhere/x"
				case "newer preparation":
					prepared[reserved.Version] = 2
				case "too many rows":
					many, _ := json.Marshal(slices.Repeat([]map[string]string{{"row": "w_000009", "fate": "insert"}}, 500))
					prepared["Rows"] = string(many)
				}
				if beside != "nothing" {
					rows = append(rows, forgedRow{reserved.Prepared + op, prepared})
				}
				if beside == "committed" || beside == "newer record" {
					rows = append(rows, forgedRow{reserved.CommitRecord + op, map[string]any{reserved.Version: map[string]int{"committed": 1, "newer record": 2}[beside], "State": "pending"}})
				}
				all = append(all, forgery{fmt.Sprintf("mark %.20s %s, %s", home, fate, beside), rows})
			}
		}
	}
	return all
}

// A forgedScene is the table of an operator with a unique value elsewhere, an index, a list and a summary.
type forgedScene struct {
	*storagetest.Service
	acc   *account.Account
	staff *table.Table[worker]
	login *index.Unique[worker, string]
	drain func(context.Context) error
}

func newForgedScene(t testing.TB) *forgedScene {
	t.Helper()
	ctx := context.Background()
	s := &forgedScene{Service: storagetest.New(nil), login: newLogin()}
	acc, err := account.FromTransport(s.Service, nil)
	check(t, err)
	o := quick()
	s.acc = acc
	options.SetNow(&o.Common, s.Now)
	staff, _, w, err := openElsewhere(acc, o, byEmail, teams, ages, s.login)
	check(t, err)
	check(t, errors.Join(tabledoor.Ensure(ctx, staff), baretest.Ensure(ctx, staff), w.Ensure(ctx)))
	s.staff, s.drain = staff, w.Drain
	for _, w := range []worker{{"S", 1, "Jones", "a", 30, nil}, {"S", 2, "Jones", "b", 40, nil}, {"T", 3, "Jones", "c", 50, nil}, {"evil", 9, "Jones", "e", 50, nil}, {"evil", 8, "Cao", "f", 51, nil}} {
		_, err := staff.Insert(ctx, &w)
		check(t, err)
	}
	check(t, s.drain(ctx))
	return s
}

// forge writes rows by a signature that reads, adds and updates in partition evil.
func (s *forgedScene) forge(t testing.TB, f forgery) {
	t.Helper()
	u, err := s.acc.TableSAS(account.Grant{Table: "staff", Read: true, Add: true, Update: true, AllowHTTP: true,
		Partitions: dept.PartitionKey("evil").Point(), Expiry: s.Now().Add(time.Hour)})
	check(t, err)
	service, err := aztables.NewServiceClientWithNoCredential(u, &aztables.ClientOptions{ClientOptions: policy.ClientOptions{Transport: s.Service}})
	check(t, err)
	c := service.NewClient("staff")
	for _, r := range f.rows {
		row := map[string]any{"PartitionKey": "evil", "RowKey": r.rowKey}
		if r.rowKey == "" {
			row["RowKey"] = wid.PartitionKey(9).String()
		}
		maps.Copy(row, r.properties)
		body, err := json.Marshal(row)
		check(t, err)
		_, err = c.UpsertEntity(context.Background(), body, nil)
		check(t, err)
	}
}

// forgedMethod is what the operator calls after a forgery. own is set for a method about rows of partition evil, which may fail.
type forgedMethod struct {
	name string
	own  bool
	call func(context.Context) error
}

// methods are the methods that may meet a forged row, those that delete last. The evil rows that cannot be decoded are skipped.
func (s *forgedScene) methods() []forgedMethod {
	skip := func(k keys.Key, _ error) bool { return k.PartitionKey() == "evil" }
	count := func(ctx context.Context, want int, q table.Query[worker]) error {
		n := 0
		q.Skip = skip
		for e, err := range s.staff.List(ctx, q) {
			if err != nil {
				return err
			}
			if e.Key.PartitionKey() != "evil" {
				n++
			}
		}
		if n != want {
			return fmt.Errorf("got %d workers; want %d", n, want)
		}
		return nil
	}
	evil := dept.PartitionKey("evil")
	get := func(ctx context.Context, k keys.Key) error { _, err := s.staff.Get(ctx, k); return err }
	return []forgedMethod{
		{"Get evil", true, func(ctx context.Context) error { return get(ctx, workerIn("evil", 9)) }},
		{"Get", false, func(ctx context.Context) error { return get(ctx, workerIn("S", 1)) }},
		{"List", false, func(ctx context.Context) error { return count(ctx, 3, table.Query[worker]{TableScan: true}) }},
		{"List of a partition", false, func(ctx context.Context) error { return count(ctx, 2, table.Query[worker]{Partition: sales}) }},
		{"List evil", false, func(ctx context.Context) error { return count(ctx, 0, table.Query[worker]{Partition: evil}) }},
		{"Count", false, func(ctx context.Context) error {
			_, err := s.staff.Count(ctx, table.Query[worker]{TableScan: true})
			return err
		}},
		{"Page", false, func(ctx context.Context) error {
			_, err := s.staff.Page(ctx, table.Query[worker]{TableScan: true, Skip: skip}, "")
			return err
		}},
		{"Partitions", false, func(ctx context.Context) error {
			for _, err := range s.staff.Partitions(ctx, keys.PartitionRange{}) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"Index.Get", false, func(ctx context.Context) error { _, err := byEmail.Get(ctx, s.staff, sales, "a"); return err }},
		{"Index.Get of a global value", false, func(ctx context.Context) error {
			_, err := s.login.Get(ctx, s.staff, "a")
			return err
		}},
		{"Lists.Keys", false, func(ctx context.Context) error { _, err := teams.Keys(ctx, s.staff, sales, "Jones"); return err }},
		{"Summary.Get", false, func(ctx context.Context) error { _, err := ages.Get(ctx, s.staff, sales, "Jones"); return err }},
		{"Update", false, func(ctx context.Context) error {
			_, err := s.staff.Update(ctx, workerIn("S", 1), func(w *worker) error { w.Age++; w.Email = "a2"; return nil })
			return err
		}},
		{"Insert", false, func(ctx context.Context) error {
			_, err := s.staff.Insert(ctx, &worker{"S", 4, "Jones", "d", 60, nil})
			return err
		}},
		{"Move", false, func(ctx context.Context) error {
			e, err := s.staff.Get(ctx, workerIn("S", 2))
			if err == nil {
				e.Value.Dept = "T"
				err = s.staff.Move(ctx, e)
			}
			return err
		}},
		{"FinishPrepared", false, func(ctx context.Context) error {
			_, err := baretest.FinishPrepared(ctx, s.staff, sales, s.Now().Add(time.Minute), commit.LeaveOrphans)
			return err
		}},
		{"FinishPrepared evil", true, func(ctx context.Context) error {
			_, err := baretest.FinishPrepared(ctx, s.staff, evil, s.Now().Add(time.Minute), commit.LeaveOrphans)
			return err
		}},
		{"verify", false, func(ctx context.Context) error { _, err := verify.Check(ctx, s.staff, nil); return err }},
		{"Sweep", true, func(ctx context.Context) error { _, err := baretest.SweepRecords(ctx, s.staff, evil); return err }},
		{"SweepAll", false, func(ctx context.Context) error {
			_, err := baretest.SweepAll(ctx, s.staff)
			return err
		}},
		{"a worker", false, func(ctx context.Context) error { return s.drain(ctx) }},
		{"verify with Repair a day later", false, func(ctx context.Context) error {
			s.Advance(26 * time.Hour)
			_, err := verify.Repair(ctx, s.staff, &verify.Options{RollBackOrphans: true})
			return err
		}},
		{"table.BulkDelete", false, func(ctx context.Context) error {
			_, err := table.BulkDelete(ctx, s.staff, table.Query[worker]{TableScan: true, Skip: skip}, &table.Pass{Skip: func(keys.Key, error) bool { return true }})
			return err
		}},
	}
}

var operationIDs = regexp.MustCompile("[0-9A-Z]{26}")

// outside returns the keys of all rows but those of partition evil and of its entities' global values, with one name for all operation
// IDs, and how often each occurs.
func (s *forgedScene) outside() map[string]int {
	all := map[string]int{}
	for _, name := range s.TableNames() {
		for _, r := range s.Rows(name) {
			partition := name + " " + r.PartitionKey
			switch {
			case slices.Contains([]string{"staff evil", "stafflogin login_e", "stafflogin login_f"}, partition):
			default:
				all[partition+" "+operationIDs.ReplaceAllString(r.RowKey, "op")]++
			}
		}
	}
	return all
}

// difference returns how many rows more than expected there are under each key.
func difference(got, want map[string]int) map[string]int {
	d := maps.Clone(got)
	for key, n := range want {
		d[key] -= n
	}
	maps.DeleteFunc(d, func(_ string, n int) bool { return n == 0 })
	return d
}

// forgedSample leaves out forgeries. The default has no factor in common with the numbers of rows, homes and fates, so each of them occurs.
var forgedSample = testkit.Count("forgedsample", 17, "of so many forged rows, one is tried")

// TestForged: the holder of a signature for one partition, without the right to delete, breaks no method of the operator outside of that
// partition, and stores nothing there, but for an abort record in a partition of the same table that a mark names as its home.
func TestForged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var all []forgery
	for i, f := range forgeries(storagetest.New(nil).Now()) {
		if i%*forgedSample == 0 {
			all = append(all, f)
		}
	}
	if testing.Short() {
		all = testkit.Some(all)
	}
	t.Logf("each method of the operator after each of %d forgeries", len(all))
	honest := newForgedScene(t)
	var want []map[string]int
	for _, m := range honest.methods() {
		if err := m.call(ctx); err != nil {
			t.Fatalf("%s: got error %v; want none", m.name, err)
		}
		want = append(want, honest.outside())
	}
	calls, broken := 0, 0
	for _, f := range all {
		s := newForgedScene(t)
		s.forge(t, f)
		for i, m := range s.methods() {
			calls++
			err := m.call(ctx)
			if err != nil && !m.own || errors.Is(err, table.ErrNotCreated) {
				broken++
				t.Errorf("%s, %s: got error %v; want none", f.name, m.name, err)
			}
			got, expected := s.outside(), maps.Clone(want[i])
			for key, n := range got {
				if own := strings.HasPrefix(key, "staff ") && strings.HasSuffix(key, reserved.CommitRecord+"op"); own && n == expected[key]+1 {
					expected[key] = n
				}
			}
			if !maps.Equal(got, expected) {
				broken++
				t.Errorf("%s, %s: got other rows outside of the partition than without the forgery: %v", f.name, m.name, difference(got, expected))
				break
			}
		}
		if broken > 20 {
			t.Fatalf("%d calls are broken", broken)
		}
	}
	t.Logf("%d forgeries, %d methods, %d calls, %d broken", len(all), len(honest.methods()), calls, broken)
}
