package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// worker is the entity of these tests, with an index of each kind.
type worker struct {
	Dept  string
	ID    int
	Last  string
	Email string
	Age   int
	Tags  []string `table:",json"`
}

var (
	dept   = keys.Text()
	wid    = keys.Digits[int](6).Named("w")
	schema = table.Schema[worker]{
		Partition: keys.Partition(dept, func(w *worker) *string { return &w.Dept }),
		Row:       keys.Row(wid, func(w *worker) *int { return &w.ID }),
	}
	last  = table.FieldOf(func(w *worker) *string { return &w.Last })
	email = table.FieldOf(func(w *worker) *string { return &w.Email })
	age   = table.FieldOf(func(w *worker) *int { return &w.Age })

	// Full copies, unique, blind to case, sparse.
	byEmail = index.New("email", keys.Fold(keys.Text()), func(w *worker) (string, bool) { return w.Email, w.Email != "" },
		&index.Options{Unique: true})
	// Pointers.
	byLast = index.New("last", keys.Ordered(), func(w *worker) (string, bool) { return w.Last, true },
		nil).Only()
	// Projected copies.
	byAge = index.New("age", keys.Digits[int](3), func(w *worker) (int, bool) { return w.Age, true },
		nil).Only(last, age)
	// Several values, full copies, among the library's rows.
	byTag = index.NewMulti("tag", keys.Text(), 3, func(w *worker) []string { return w.Tags },
		&index.Options{Reserved: true})
)

func at(id int) keys.Key { return keys.At(dept.PartitionKey("S"), wid.RowKey(id)) }

var sales = dept.PartitionKey("S")

var check = testkit.NoError

// checkInHook reports an error and, unlike check, does not end the test, so that functions in other goroutines may call it, such as
// those of testkit.Hooked.
func checkInHook(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("before a request: got error %v; want none", err)
	}
}

// onlyError returns the error of a list that is to yield one error and nothing else.
func onlyError[V any](t testing.TB, what string, list iter.Seq2[V, error]) (only error) {
	t.Helper()
	yielded := 0
	for v, err := range list {
		if yielded++; err == nil {
			t.Errorf("%s: got %v; want only an error", what, v)
		} else {
			only = err
		}
	}
	if yielded != 1 || only == nil {
		t.Errorf("%s: got %d results and error %v; want 1 result, an error", what, yielded, only)
	}
	return only
}

type transport interface {
	Do(*http.Request) (*http.Response, error)
}

// quick returns options without pauses.
func quick() *table.Options {
	o := &table.Options{BlindWrites: true} // which matters to tables without definitions
	o.Retry.Wait, o.Retry.ConflictWait, o.Retry.ConflictAttempts = -1, -1, 8
	return o
}

// openAs returns the table of the tests for rows of any type.
func openAs[T any](t testing.TB, connection string, tr transport, schema table.Schema[T]) *table.Table[T] {
	t.Helper()
	staff, err := bare.NewTable(serviceOf(t, connection, tr), "staff", schema, quick())
	check(t, err)
	return staff
}

func serviceOf(t testing.TB, connection string, tr transport) engine.Service {
	t.Helper()
	acc, err := account.FromConnectionString(connection, &account.Options{Client: azcore.ClientOptions{Transport: tr}})
	check(t, err)
	return acc.Tables()
}

// newStaff returns a table with definitions, on a service of its own.
func newStaff(t *testing.T, definitions ...extend.Definition[worker]) (*table.Table[worker], *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	base := openAs(t, s.ConnectionString(), s, schema)
	check(t, tabledoor.Ensure(context.Background(), base))
	staff, err := baretest.Attach(base, definitions...)
	if err != nil {
		t.Fatalf("Attach of %d definitions: got error %v; want none", len(definitions), err)
	}
	s.Count()
	return staff, s
}

// copyDefinitions returns an index of each kind.
func copyDefinitions() []extend.Definition[worker] {
	return []extend.Definition[worker]{byEmail, byLast, byAge, byTag}
}

func insertAll(t *testing.T, staff *table.Table[worker], s *storagetest.Service, all ...worker) (es []*table.Entity[worker]) {
	t.Helper()
	for _, w := range all {
		e, err := staff.Insert(context.Background(), &w)
		if err != nil {
			t.Fatalf("Insert of %+v: got error %v; want none", w, err)
		}
		es = append(es, e)
	}
	s.Count()
	return es
}

// ids returns the IDs of the workers that a list yields.
func ids(t *testing.T, list func(func(*table.Entity[worker], error) bool)) (all []int) {
	t.Helper()
	for e, err := range list {
		if err != nil {
			t.Fatalf("list: got error %v after the IDs %v; want none", err, all)
		}
		all = append(all, e.Value.ID)
	}
	return all
}

// checkCopies compares the rows of copyDefinitions with the entities by a full scan; no other rows may exist.
func checkCopies(s *storagetest.Service) error {
	return checkCopiesOf("email", "last", "age", "~x|tag")(s)
}

// checkCopiesOf returns checkCopies for some of the indexes.
func checkCopiesOf(attached ...string) func(s *storagetest.Service) error {
	return func(s *storagetest.Service) error { return copiesOf(s, attached) }
}

func copiesOf(s *storagetest.Service, attached []string) error {
	want := map[string]map[string]any{}
	got := map[string]map[string]any{}
	for _, r := range s.Rows("staff") {
		if isForeignRow(r.RowKey) {
			continue
		}
		columns := map[string]any{}
		for _, p := range r.Properties {
			columns[p.Name] = p.Value
			if s, is := p.Value.(string); is && p.Name == "_sys" {
				columns[p.Name], _, _ = strings.Cut(s, "/") // behind it, which properties the copy holds
			}
		}
		if !strings.HasPrefix(r.RowKey, "w_") {
			got[r.PartitionKey+"/"+r.RowKey] = columns
			continue
		}
		maps.DeleteFunc(columns, func(name string, _ any) bool { return slices.Contains([]string{"_life", "_ix"}, name) })
		columns["_sys"] = r.RowKey
		put := func(row string, only ...string) error {
			if kind, _, _ := strings.Cut(row, "_"); !slices.Contains(attached, kind) {
				return nil
			}
			c := maps.Clone(columns)
			if only != nil {
				maps.DeleteFunc(c, func(name string, _ any) bool { return !slices.Contains(only, name) })
			}
			row = r.PartitionKey + "/" + row
			if want[row] != nil {
				return fmt.Errorf("two have %s", row)
			}
			want[row] = c
			return nil
		}
		var errs []error
		if mail, _ := columns["Email"].(string); mail != "" {
			errs = append(errs, put("email_"+strings.ToLower(mail)))
		}
		errs = append(errs, put(fmt.Sprintf("last_%s!_%s", columns["Last"], r.RowKey), "_sys"))
		errs = append(errs, put(fmt.Sprintf("age_%03d_%s", columns["Age"], r.RowKey), "_sys", "Last", "Age"))
		tags, _ := columns["Tags"].(string)
		for _, tag := range slices.Compact(slices.Sorted(slices.Values(strings.Fields(strings.Trim(strings.NewReplacer(`"`, "", ",", " ").Replace(tags), "[]"))))) {
			if tag != "null" {
				errs = append(errs, put("~x|tag_"+tag+"_"+r.RowKey))
			}
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return sameRows(got, want)
}

func sameRows(got, want map[string]map[string]any) error {
	for k, w := range want {
		if g, ok := got[k]; !ok {
			return fmt.Errorf("row %s: got none; want %v", k, w)
		} else if fmt.Sprint(g) != fmt.Sprint(w) {
			return fmt.Errorf("row %s: got %v; want %v", k, g, w)
		}
	}
	for k, g := range got {
		if _, ok := want[k]; !ok {
			return fmt.Errorf("row %s: got %v; want none", k, g)
		}
	}
	return nil
}

func right(t *testing.T, s *storagetest.Service) {
	t.Helper()
	if err := checkCopies(s); err != nil {
		t.Errorf("check of all rows: got error %v; want none", err)
	}
}

// foreignRowKeys are the RowKeys of rows of other types and programs, in the ranges of the definitions.
var foreignRowKeys = []string{"team_alone", "ages_alone", "email_alone", "last_alone!_w_000001", "age_001_w_alone", "~x|tag_alone", "mp_alone", "nf_alone_w_000001", "~x|nl_alone", "~x|ns_alone"}

// isForeignRow reports whether a RowKey is that of a foreign row.
func isForeignRow(rowKey string) bool { return slices.Contains(foreignRowKeys, rowKey) }

// insertForeignRows inserts the foreign rows.
func insertForeignRows(ctx context.Context, rows *table.Table[table.Row]) error {
	for i, rk := range foreignRowKeys {
		row := &table.Row{Key: rowAt(rk)}
		if err := errors.Join(row.Set("Count", int64(1)), row.Set("Members", "w_000001")); err != nil {
			return err
		}
		if i%3 == 1 {
			*row = *(*table.Row)((*stored.Row)(row).Own("team:t_"))
		}
		if _, err := door.Rows[table.Table[table.Row]](door.Table(rows), i%2 == 0).Insert(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// withForeignRows returns a check that also checks that the foreign rows are untouched.
func withForeignRows(right func(*storagetest.Service) error) func(*storagetest.Service) error {
	return func(s *storagetest.Service) error {
		left := len(foreignRowKeys)
		for _, r := range s.Rows("staff") {
			if !isForeignRow(r.RowKey) {
				continue
			}
			left--
			sys, _ := r.Get("_sys").(string)
			if r.Get("Count") != int64(1) || r.Get("Members") != "w_000001" || r.Get("_ix") != nil || sys != "" && sys != "//team:t_" {
				return fmt.Errorf("somebody else's row is %v", r)
			}
		}
		if left > 0 && left < len(foreignRowKeys) {
			return fmt.Errorf("%d rows of others are gone", left)
		}
		return right(s)
	}
}

// stateBytes returns the _ix of a row whose maintainer state is texts, in the stored form of package table. Text that is no JSON is
// returned unchanged.
func stateBytes(rowKey, texts string) []byte {
	var all map[string][]string
	if json.Unmarshal([]byte(texts), &all) != nil || len(all) == 0 {
		return []byte(texts)
	}
	escaped := strings.NewReplacer(`\`, `\\`, "/", `\/`, "?", `\?`, "#", `\#`, "^", `\^`, "*", `\*`)
	var groups []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		group := name
		for _, text := range all[name] {
			group += "/" + escaped.Replace(text)
		}
		groups = append(groups, group)
	}
	s := strings.Join(groups, "#")
	sum := crc32.ChecksumIEEE([]byte(rowKey + "\n" + s))
	return append([]byte{'1', byte(sum >> 16), byte(sum >> 8), byte(sum)}, s...)
}
