package table_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// mailTown returns the residents of a service for one program, with addresses and an outbox, so that each write by key reads its row
// first. The residents from to to, each step-th, are stored.
func mailTown(t testing.TB, from, to, step int) (*table.Table[resident], *testkit.Hooked) {
	t.Helper()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	noError(t, tabledoor.Ensure(context.Background(), peopleOf(t, s, nil)))
	people := mailProgram(t, s)
	_, err := door.Bulk(context.Background(), func(yield func(table.Op, error) bool) {
		for id := from; id <= to; id += step {
			if !yield(people.InsertOp(&resident{"S", id, "old", ""}), nil) {
				return
			}
		}
	}, nil)
	noError(t, err)
	s.Count()
	return people, s
}

// mailProgram returns the residents of a service for another program.
func mailProgram(t testing.TB, a account.Transport) *table.Table[resident] {
	t.Helper()
	people, err := baretest.WithOutbox(peopleOf(t, a, nil), &memoryOutbox{}, byEmail{})
	noError(t, err)
	return people
}

// upsertsOf returns upserts of the residents from one ID to another.
func upsertsOf(people *table.Table[resident], from, to int) (ops []table.Op) {
	for id := from; id <= to; id++ {
		ops = append(ops, people.UpsertOp(&resident{"S", id, "new", ""}, table.ReplaceExisting))
	}
	return ops
}

// runOf applies operations by bulk.
func runOf(ops []table.Op, o *engine.BulkOptions) (engine.BulkResult, error) {
	return door.Bulk(context.Background(), stream(len(ops), func(i int) table.Op { return ops[i] }), o)
}

// lastNames returns the last names of the stored residents of S as ranges, as in "1-3 new, 4 old*"; a star is a mark.
func lastNames(s *testkit.Hooked) string {
	type span struct {
		from, to int
		what     string
	}
	var all []span
	for _, r := range s.Rows("people") {
		id := 0
		if _, err := fmt.Sscanf(r.RowKey, "p_%d", &id); err != nil || r.PartitionKey != "S" {
			continue
		}
		what := fmt.Sprint(r.Get("Last"))
		if mail := r.Get("Email"); mail != nil && mail != "" {
			what += fmt.Sprint(" ", mail)
		}
		if r.Get("_tx") != nil {
			what += "*"
		}
		if n := len(all); n > 0 && all[n-1].to == id-1 && all[n-1].what == what {
			all[n-1].to = id
			continue
		}
		all = append(all, span{id, id, what})
	}
	var text []string
	for _, a := range all {
		if a.from == a.to {
			text = append(text, fmt.Sprint(a.from, " ", a.what))
		} else {
			text = append(text, fmt.Sprint(a.from, "-", a.to, " ", a.what))
		}
	}
	return strings.Join(text, ", ")
}

// crashedMoves moves residents into a partition, each by a program that crashes before a transaction: 2 commits, and 3 finishes.
func crashedMoves(t testing.TB, s *testkit.Hooked, from, to string, at int, ids ...int) {
	t.Helper()
	for _, id := range ids {
		own := &testkit.Hooked{Service: s.Service}
		people := mailProgram(t, own)
		ctx, cancel := context.WithCancel(context.Background())
		e, err := people.Get(ctx, keys.At(dept.PartitionKey(from), residentID.Of(id)))
		noError(t, err)
		n := 0
		own.BeforeRequest = func(r *http.Request) {
			if isBatch(r) {
				if n++; n == at {
					cancel()
				}
			}
		}
		e.Value.Dept = to
		if err := people.Move(ctx, e); n < at {
			t.Fatalf("move of %d: got %v after %d transactions; want a crash before transaction %d", id, err, n, at)
		}
		cancel()
	}
}

// TestReadTogetherMarks: of the rows that are read together, those with a mark are read by themselves, which ends the writes that
// have prepared them.
func TestReadTogetherMarks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		what     string
		at       int
		stays    bool              // the moved residents are still in M
		requests map[string]string // 4 for each mark besides that of the row; before the commit, also 1 for the abort record
	}{
		{"before the commit", 2, true, map[string]string{"transaction": "15 get, 3 insert, 1 query, 4 transaction", "bulk": "22 get, 3 insert, 1 query, 4 transaction"}},
		{"after the commit", 3, false, map[string]string{"transaction": "15 get, 1 query, 4 transaction", "bulk": "22 get, 1 query, 4 transaction"}},
	} {
		for what, write := range map[string]func([]table.Op) error{
			"transaction": func(ops []table.Op) error { _, err := table.Transact(ctx, ops...); return err },
			"bulk":        func(ops []table.Op) error { _, err := runOf(ops, nil); return err },
		} {
			people, s := mailTown(t, 1, 40, 1)
			for _, id := range []int{6, 16, 26} {
				noError(t, people.DeleteAny(ctx, residentAt(id)))
				_, err := people.Insert(ctx, &resident{"M", id, "old", ""})
				noError(t, err)
			}
			crashedMoves(t, s, "M", "S", c.at, 6, 16, 26)
			testkit.Expect(t, c.what+", "+what+": residents before", lastNames(s), "1-5 old, 6 old*, 7-15 old, 16 old*, 17-25 old, 26 old*, 27-40 old")
			s.Count()
			noError(t, write(upsertsOf(people, 1, 40)))
			testkit.Expect(t, c.what+", "+what+": requests", s.Count().String(), c.requests[what])
			testkit.Expect(t, c.what+", "+what+": residents", lastNames(s), "1-40 new")
			for _, id := range []int{6, 16, 26} {
				if _, err := people.Get(ctx, keys.At(dept.PartitionKey("M"), residentID.Of(id))); c.stays && err != nil || !c.stays && !errors.Is(err, table.ErrNotFound) {
					t.Errorf("%s, %s: resident %d of M: got error %v; want that it is there: %v", c.what, what, id, err, c.stays)
				}
			}
		}
	}
}

// TestReadTogetherShared: a maintainer's rows are read together, too; of them, those with a mark are read by themselves.
func TestReadTogetherShared(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		at       int
		want     string // the list of the name of resident 105
		requests string
	}{{2, "5", "6 get, 1 insert, 1 query, 2 transaction"}, {3, "105 5", "6 get, 1 query, 2 transaction"}} {
		s := storagetest.New(nil)
		people, own := townProgram(t, s, nil)
		noError(t, tabledoor.Ensure(ctx, people))
		for _, r := range []resident{{"M", 105, "L05", ""}, {"S", 200, "L08", ""}} {
			_, err := people.Insert(ctx, &r)
			noError(t, err)
		}
		mover, movers := townProgram(t, s, nil)
		moving, cancel := context.WithCancel(ctx)
		e, err := mover.Get(ctx, keys.At(dept.PartitionKey("M"), residentID.Of(105)))
		noError(t, err)
		n := 0
		movers.BeforeRequest = func(r *http.Request) {
			if isBatch(r) {
				if n++; n == c.at {
					cancel()
				}
			}
		}
		e.Value.Dept = "S"
		_ = mover.Move(moving, e)
		cancel()
		own.Count()
		var ops []table.Op
		for id := 1; id <= 20; id++ {
			ops = append(ops, people.InsertOp(&resident{"S", id, fmt.Sprintf("L%02d", id), ""}))
		}
		_, err = table.Transact(ctx, ops...)
		noError(t, err)
		testkit.Expect(t, "requests", own.Count().String(), c.requests)
		got := map[string]any{}
		for _, r := range own.Rows("people") {
			if r.PartitionKey == "S" && strings.HasPrefix(r.RowKey, "last_") {
				got[r.RowKey] = fmt.Sprint(r.Get("IDs"))
			}
		}
		want := map[string]any{}
		for id := 1; id <= 20; id++ {
			want[fmt.Sprintf("last_L%02d", id)] = fmt.Sprint(id)
		}
		want["last_L05"], want["last_L08"] = c.want, "200 8"
		testkit.Expect(t, "lists", got, want)
	}
}

// granted returns the residents of a service as a program with a signature for a range of RowKeys of S sees them.
func granted(t testing.TB, s *testkit.Hooked, rows keys.RowRange, o *table.Options) *table.Table[resident] {
	t.Helper()
	options := &account.Options{Client: azcore.ClientOptions{Transport: s}}
	owner, err := account.FromConnectionString(s.ConnectionString(), options)
	noError(t, err)
	u, err := owner.TableSAS(account.Grant{Table: "people", Read: true, Add: true, Update: true, Delete: true, Partitions: dept.PartitionKey("S").Point(), Rows: rows, Expiry: s.Now().Add(time.Hour), AllowHTTP: true})
	noError(t, err)
	holder, err := account.FromSAS(account.Endpoints{Table: u}, options)
	noError(t, err)
	people, err := bare.NewTable(holder.Tables(), "people", peopleSchema, o)
	noError(t, err)
	return people
}

// TestReadTogetherGranted: a query does not show the rows outside of a signature, so a row that it does not show is read by itself.
func TestReadTogetherGranted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := mailTown(t, 1, 40, 2)
	people, err := bare.With(granted(t, s, residentID.All(), noWaitOptions()), byEmail{})
	noError(t, err)
	// The first query shows that the signature is for a range.
	for _, want := range []string{"20 get, 1 query, 1 transaction", "40 get, 1 transaction"} {
		_, err = table.Transact(ctx, upsertsOf(people, 1, 40)...)
		noError(t, err)
		testkit.Expect(t, "requests", s.Count().String(), want)
		testkit.Expect(t, "residents", lastNames(s), "1-40 new")
	}
	// The lists are outside of the signature.
	_, s = mailTown(t, 1, 1, 1)
	owner, err := bare.With(peopleOf(t, s, nil), byLast{})
	noError(t, err)
	_, err = owner.Insert(ctx, &resident{"S", 100, "L05", ""})
	noError(t, err)
	people, err = bare.With(granted(t, s, residentID.All(), noWaitOptions()), byLast{})
	noError(t, err)
	s.Count()
	before := storedPeople(s)
	var ops []table.Op
	for id := 2; id <= 21; id++ {
		ops = append(ops, people.InsertOp(&resident{"S", id, fmt.Sprintf("L%02d", id), ""}))
	}
	if _, err = table.Transact(ctx, ops...); !errors.Is(err, table.ErrRanged) {
		t.Errorf("lists outside of the signature: got error %v; want ErrRanged", err)
	}
	testkit.Expect(t, "lists outside of the signature: requests", s.Count().String(), "20 get, 1 query")
	testkit.Expect(t, "rows", storedPeople(s), before)
}

// TestReadTogetherShortPages: rows behind the end of a page are read by the next query, or by themselves.
func TestReadTogetherShortPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		page     int
		requests string
	}{
		{1000, "1 query, 1 transaction"},
		{39, "1 get, 1 query, 1 transaction"},
		{15, "10 get, 2 query, 1 transaction"},
		{3, "10 get, 10 query, 1 transaction"},
		{0, "40 get, 1 query, 1 transaction"},
	} {
		people, s := mailTown(t, 1, 40, 1)
		s.SetFaults(storagetest.OfKind(requests.Query, storagetest.ShortPage(c.page)))
		var ops []table.Op
		for id := 1; id <= 40; id++ {
			ops = append(ops, baretest.MergeAnyOp(people, residentAt(41-id), lastName.Set("new")))
		}
		_, err := table.Transact(ctx, ops...)
		noError(t, err)
		testkit.Expect(t, fmt.Sprintf("pages of %d: requests", c.page), s.Count().String(), c.requests)
		testkit.Expect(t, fmt.Sprintf("pages of %d: residents", c.page), lastNames(s), "1-40 new")
	}
}

// TestReadTogetherSparse: rows among many others are read by themselves after one query.
func TestReadTogetherSparse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		apart    int
		requests string
	}{
		{2, "1 query, 1 transaction"},
		{3, "13 get, 1 query, 1 transaction"}, // the page has 80 rows, of which 27 are wanted
		{20, "36 get, 1 query, 1 transaction"},
	} {
		people, s := mailTown(t, 1, 40*c.apart, 1)
		var ops []table.Op
		for id := 1; id <= 40*c.apart; id += c.apart {
			ops = append(ops, baretest.MergeAnyOp(people, residentAt(id), eMail.Set(fmt.Sprint(id))))
		}
		_, err := table.Transact(ctx, ops...)
		noError(t, err)
		testkit.Expect(t, fmt.Sprintf("every %d: requests", c.apart), s.Count().String(), c.requests)
		if err := checkMails(s, c.apart); err != nil {
			t.Errorf("every %d: %v", c.apart, err)
		}
	}
}

// checkMails returns an error unless each of the residents at a distance, and no other, has an address.
func checkMails(s *testkit.Hooked, apart int) error {
	for _, r := range s.Rows("people") {
		id := 0
		if _, err := fmt.Sscanf(r.RowKey, "p_%d", &id); err != nil {
			continue
		}
		want := ""
		if id%apart == 1 {
			want = fmt.Sprint(id)
		}
		if got := r.Get("Email"); fmt.Sprint(got) != want {
			return fmt.Errorf("resident %d: got the address %v; want %q", id, got, want)
		}
	}
	return nil
}

// damaged changes the responses of reads: a text in the body is replaced.
type damaged struct {
	*testkit.Hooked
	of       func(*http.Request) bool
	old, new string
}

func (d *damaged) Do(r *http.Request) (*http.Response, error) {
	resp, err := d.Hooked.Do(r)
	if err != nil || r.Method != http.MethodGet || !d.of(r) {
		return resp, err
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(strings.NewReader(strings.ReplaceAll(string(b), d.old, d.new)))
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	return resp, nil
}

// TestReadTogetherUnreadable: a row that cannot be decoded, between the rows that are read together, matters to its own operation
// alone. If a page cannot be read, the rows are read by themselves.
func TestReadTogetherUnreadable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	all := func(*http.Request) bool { return true }
	query := func(r *http.Request) bool { return !strings.Contains(r.URL.Path, "RowKey=") }
	const bad = `"Count":"nine","Count@odata.type":"Edm.Int64"`
	for _, c := range []struct {
		what     string
		of       func(*http.Request) bool
		text     string
		wanted   bool // the row is one of those that are read
		err      string
		requests string
		names    string
	}{
		{"another row", all, bad, false, "", "1 query, 1 transaction", "1-20 new, 20 other, 21-40 new"},
		{"a row that is read", all, bad, true, "property Count has a value of 4 bytes that is not a valid Edm.Int64", "2 get, 1 query", "1-19 old, 20 other, 21-40 old"},
		{"a row that only the query shows so", query, bad, true, "", "1 get, 1 query, 1 transaction", "1-40 new"},
		{"a page", query, `"Count":}`, false, "", "40 get, 1 query, 1 transaction", "1-20 new, 20 other, 21-40 new"},
	} {
		_, s := mailTown(t, 1, 40, 1)
		rk := "p_000020x"
		if c.wanted {
			rk = "p_000020"
		}
		_, err := residentRows(t, s).Upsert(ctx, residentRow(t, rk, map[string]any{"Last": "other", "Count": int64(999)}), table.ReplaceExisting)
		noError(t, err)
		s.Count()
		people := mailProgram(t, &damaged{s, c.of, `"Count@odata.type":"Edm.Int64","Count":"999"`, c.text})
		if _, err = table.Transact(ctx, upsertsOf(people, 1, 40)...); fmt.Sprint(err) != "<nil>" && c.err == "" || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: got error %v; want %q", c.what, err, c.err)
		}
		testkit.Expect(t, c.what+": requests", s.Count().String(), c.requests)
		testkit.Expect(t, c.what+": residents", lastNames(s), c.names)
	}
}

// scanFirst is a maintainer that scans before it loads a row.
type scanFirst struct{ calls *int }

func (scanFirst) Name() string { return "scanFirst" }
func (scanFirst) MaxRows() int { return 1 }
func (m scanFirst) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	*m.calls++
	for _, err := range p.Scan(ctx, keys.RawRows("scanned_", "scanned_~")) {
		if err != nil {
			return err
		}
	}
	_, err := p.Load(ctx, keys.RawRow(fmt.Sprint("loaded_", c.New.ID)))
	return err
}

// TestReadTogetherAfterScans: a preview ends at a scan. When some previews have found no row, there are no more, so that the calls of
// a maintainer grow with the operations and not with their square.
func TestReadTogetherAfterScans(t *testing.T) {
	t.Parallel()
	people, _ := newTown(t, nil)
	calls := 0
	people, err := bare.With(people, scanFirst{&calls})
	noError(t, err)
	var ops []table.Op
	for id := range 80 {
		ops = append(ops, people.InsertOp(&resident{"S", id, "Jones", ""}))
	}
	_, err = table.Transact(t.Context(), ops...)
	noError(t, err)
	if calls > 5*len(ops) {
		t.Errorf("got %d calls of the maintainer for %d operations; want at most 5 for each", calls, len(ops))
	}
}
