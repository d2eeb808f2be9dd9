package table_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// cancelAt lets a program crash before its transaction with a number.
func cancelAt(own *testkit.Hooked, at int) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	own.BeforeRequest = func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "$batch") {
			if n++; n == at {
				cancel()
			}
		}
	}
	return ctx, cancel
}

// TestParticipantWideList: a list of wide entities shows what is committed.
func TestParticipantWideList(t *testing.T) {
	t.Parallel()
	for at, want := range map[int]string{2: "a", 3: "b"} {
		s := storagetest.New(nil)
		own := &testkit.Hooked{Service: s}
		base, err := bare.NewTable(serviceOf(t, own), "pages", pageSchema(), readingOptions())
		noError(t, err)
		pages, err := baretest.WithOutbox(base, &memoryOutbox{})
		noError(t, err)
		noError(t, tabledoor.Ensure(context.Background(), pages))
		e, err := pages.Insert(context.Background(), &page{Site: "a", Path: "p", Title: "T", Visits: make([]int32, 365), Article: "x", Scan: bytes.Repeat([]byte{7}, 100_000), Note: "n"})
		noError(t, err)
		ctx, cancel := cancelAt(own, at)
		e.Value.Site = "b"
		_ = pages.Move(ctx, e)
		own.BeforeRequest = nil
		cancel()
		var in []string
		for _, site := range []string{"a", "b"} {
			for e, err := range pages.List(context.Background(), table.Query[page]{Partition: keys.Text().PartitionKey(site)}) {
				noError(t, err)
				in = append(in, e.Value.Site)
			}
		}
		testkit.Expect(t, fmt.Sprintf("crash before transaction %d: lists find it in", at), strings.Join(in, " "), want)
	}
}

// TestParticipantRangedReader: a reader whose signature is for a range of rows without the library's rows.
func TestParticipantRangedReader(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for at, want := range map[int]bool{2: false, 3: true} {
		_, s, _ := movingTown(t)
		crashedMove(t, s.Service, at)
		o := &account.Options{Client: azcore.ClientOptions{Transport: s}}
		owner, err := account.FromConnectionString(s.ConnectionString(), o)
		noError(t, err)
		url, err := owner.TableSAS(account.Grant{Table: "people", Read: true, Partitions: dept.PartitionKey("M").Point(), Rows: keys.RawRows("a", "z"), Expiry: s.Now().Add(time.Hour), AllowHTTP: true})
		noError(t, err)
		holder, err := account.FromSAS(account.Endpoints{Table: url}, o)
		noError(t, err)
		people, err := bare.NewTable(holder.Tables(), "people", peopleSchema, noWaitOptions())
		noError(t, err)
		_, err = people.Get(ctx, keys.At(dept.PartitionKey("M"), residentID.Of(1)))
		got := err == nil
		if (err == nil || errors.Is(err, table.ErrNotFound)) && got != want {
			t.Errorf("crash before transaction %d: Get found it: %v (%v); want %v, or another error", at, got, err, want)
		}
		got = false
		err = nil
		for e, lerr := range people.List(ctx, table.Query[resident]{Partition: dept.PartitionKey("M"), Rows: keys.RawRows("a", "z")}) {
			if err = lerr; lerr == nil && e.Value.ID == 1 {
				got = true
			}
		}
		if err == nil && got != want {
			t.Errorf("crash before transaction %d: a list found it: %v; want %v, or an error", at, got, want)
		}
	}
}

// TestParticipantBudget: a list with a budget of one row comes to its end, although a row is only reserved.
func TestParticipantBudget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, _ := movingTown(t)
	insertAll(t, people, s, resident{"M", 9, "Z", "z"})
	noError(t, people.DeleteAny(ctx, keys.At(dept.PartitionKey("M"), residentID.Of(3))))
	noError(t, people.DeleteAny(ctx, keys.At(dept.PartitionKey("S"), residentID.Of(2))))
	insertAll(t, people, s, resident{"M", 0, "Z", "zz"})
	crashedMove(t, s.Service, 2)
	reader, _ := townProgram(t, s.Service, nil)
	q := table.Query[resident]{Partition: dept.PartitionKey("M"), Cursor: table.NewCursor("")}
	var got []int
	for e, err := range reader.List(ctx, q) {
		noError(t, err)
		got = append(got, e.Value.ID)
		break
	}
	q.Budget = table.Budget{Rows: 1}
	for range 10 {
		for e, err := range reader.List(ctx, q) {
			if errors.Is(err, table.ErrBudget) {
				break
			}
			noError(t, err)
			got = append(got, e.Value.ID)
		}
		if q.Cursor.Done() {
			break
		}
	}
	testkit.Expect(t, "residents of M", got, []int{0, 9})
}

// TestParticipantBulkReserved: an insert of bulk work under a key that is only reserved.
func TestParticipantBulkReserved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, _ := movingTown(t)
	insertAll(t, people, s, resident{"M", 0, "Z", "z0"}, resident{"M", 4, "Z", "z4"}, resident{"M", 5, "Z", "z5"})
	crashedMove(t, s.Service, 2) // M/1 is reserved
	reader, _ := townProgram(t, s.Service, nil)
	var skipped []int
	_, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for _, id := range []int{0, 4, 1, 5} {
			if !yield(reader.InsertOp(&resident{"M", id, "New", fmt.Sprint("n", id)}), nil) {
				return
			}
		}
	}, &engine.BulkOptions{Skip: func(i int, err error) bool { skipped = append(skipped, i); return true }})
	noError(t, err)
	slices.Sort(skipped)
	testkit.Expect(t, "refused inserts", skipped, []int{0, 1, 3})
}

// TestParticipantMoveResolved: a move whose outcome was unknown.
func TestParticipantMoveResolved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, _ := movingTown(t)
	e, err := people.Get(ctx, residentAt(1))
	noError(t, err)
	e.Value.Dept = "M"
	n := 0
	short, cancel := context.WithCancel(ctx)
	s.BeforeRequest = func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "$batch") {
			n++
		}
		if n == 2 {
			s.SetFaults(storagetest.When(func(storagetest.Request) bool { return true }, storagetest.LostResponse()))
			s.BeforeRequest = func(r *http.Request) { cancel() }
		}
	}
	err = people.Move(short, e)
	s.BeforeRequest = nil
	s.SetFaults(nil)
	var unknown *table.UnknownError
	if !errors.As(err, &unknown) {
		t.Fatalf("got %v; want an *UnknownError", err)
	}
	done, err := unknown.Resolve(ctx)
	if !done || err != nil {
		t.Fatalf("got %v, %v; want a move that was applied", done, err)
	}
	if want := keys.At(dept.PartitionKey("M"), residentID.Of(1)); e.Key != want {
		t.Errorf("got the key %v; want %v", e.Key, want)
	}
}

// participantEffect adds an effect by the plan of another partition, without a row there.
type participantEffect struct{ people *table.Table[resident] }

func (participantEffect) Name() string { return "participant" }
func (participantEffect) MaxRows() int { return 1 }
func (m participantEffect) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	q, err := door.Participant(p, door.Table(m.people), "X")
	if err != nil {
		return err
	}
	q.Effect("mail", 1, []byte("hello"))
	return nil
}

// TestParticipantsEffect: an effect that is added by the plan of another partition is not lost, and names that partition.
func TestParticipantsEffect(t *testing.T) {
	t.Parallel()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	base := peopleOf(t, s, nil)
	noError(t, tabledoor.Ensure(context.Background(), base))
	out := &memoryOutbox{}
	people, err := baretest.WithOutbox(base, out, participantEffect{base})
	noError(t, err)
	_, err = people.Insert(context.Background(), &resident{"S", 1, "Jones", "a"})
	noError(t, err)
	if len(out.calls) == 0 {
		t.Fatal("got no notification; want the effect")
	}
	record, err := records.Of(people).Get(context.Background(), keys.RawPartition("S"), out.last.OperationID)
	noError(t, err)
	var got []string
	for _, e := range record.Effects {
		got = append(got, e.Kind+" of "+e.Table+"/"+e.Partition+"/"+e.RowKey)
	}
	testkit.Expect(t, "effects", got, []string{"mail of people/X/p_000001"})
}

// participantEmail keeps a row for each unique e-mail address in another partition.
type participantEmail struct{ people *table.Table[resident] }

func (participantEmail) Name() string { return "email" }
func (participantEmail) MaxRows() int { return 1 }
func (m participantEmail) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	q, err := door.Participant(p, door.Table(m.people), "X")
	if err != nil {
		return err
	}
	row := &table.Row{Key: keys.At(keys.RawPartition("X"), keys.RawRow("email_"+c.New.Email))}
	if c.Old != nil {
		return q.Put(row)
	}
	return q.Insert(row, errTaken)
}

// TestParticipantTakerIsRefused: if one operation takes a unique value in another partition that another operation keeps, the first is
// refused.
func TestParticipantTakerIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	base := peopleOf(t, s, nil)
	noError(t, tabledoor.Ensure(ctx, base))
	people, err := baretest.WithOutbox(base, &memoryOutbox{}, participantEmail{base})
	noError(t, err)
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	_, err = table.Transact(ctx, people.InsertOp(&resident{"S", 2, "Smith", "a"}), people.ReplaceOp(e))
	var be *table.BatchError
	if !errors.As(err, &be) || be.Index != 0 || !errors.Is(err, errTaken) {
		t.Errorf("got %v; want errTaken of operation 0", err)
	}
}

// TestParticipantInsertExists: the insert of an entity that exists is not sent again.
func TestParticipantInsertExists(t *testing.T) {
	t.Parallel()
	people, s, _ := movingTown(t)
	s.Count()
	_, err := people.Insert(context.Background(), &resident{"S", 1, "Jones", "z"})
	if got := s.Count().String(); !errors.Is(err, table.ErrExists) || got != "3 get, 1 transaction" {
		t.Errorf("got %v after %s; want ErrExists after 3 get, 1 transaction", err, got)
	}
}

// participantLoad loads a row of another partition and overlooks the error.
type participantLoad struct{ people *table.Table[resident] }

func (participantLoad) Name() string { return "load" }
func (participantLoad) MaxRows() int { return 1 }
func (m participantLoad) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	q, err := door.Participant(p, door.Table(m.people), "X")
	if err != nil {
		return err
	}
	_, _ = q.Load(ctx, keys.RawRow("shared"))
	return nil
}

// TestParticipantLoad: a row of another partition that cannot be read lets the write fail, as Plan.Load says.
func TestParticipantLoad(t *testing.T) {
	t.Parallel()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	base := peopleOf(t, s, nil)
	noError(t, tabledoor.Ensure(context.Background(), base))
	people, err := baretest.WithOutbox(base, &memoryOutbox{}, participantLoad{base})
	noError(t, err)
	s.SetFaults(storagetest.When(func(r storagetest.Request) bool { return strings.Contains(r.RowKey, "shared") }, storagetest.Refuse(403, "AuthorizationFailure")))
	if _, err = people.Insert(context.Background(), &resident{"S", 1, "Jones", "a"}); err == nil {
		t.Error("got no error; want that of the read")
	}
	// In bulk work, it is no error of the operation.
	_, err = door.Bulk(context.Background(), func(yield func(table.Op, error) bool) {
		yield(people.InsertOp(&resident{"S", 2, "Jones", "b"}), nil)
	}, &engine.BulkOptions{Skip: func(i int, err error) bool { t.Errorf("asked about operation %d: %v", i, err); return true }})
	_ = err
}

// TestParticipantVoidMark: another program has written back a row with the mark of a move that is over. Lists show what Get shows.
func TestParticipantVoidMark(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s, _ := movingTown(t)
	client := s.Service.Tables().NewClient("people")
	crashedMove(t, s.Service, 3) // committed
	var raw [][]byte
	for _, rk := range []string{"p_000001", "last_Jones"} {
		r, err := client.GetEntity(ctx, "M", rk, nil)
		noError(t, err)
		raw = append(raw, r.Value)
	}
	reader, _ := townProgram(t, s.Service, nil)
	_, err := reader.Get(ctx, keys.At(dept.PartitionKey("M"), residentID.Of(1))) // ends the move
	noError(t, err)
	for _, b := range raw {
		_, err := client.UpsertEntity(ctx, b, nil)
		noError(t, err)
	}
	_, err = reader.Get(ctx, keys.At(dept.PartitionKey("M"), residentID.Of(1)))
	noError(t, err)
	var lists []string
	rows, err := bare.NewTable(serviceOf(t, s), "people", table.Schema[table.Row]{}, noWaitOptions())
	noError(t, err)
	for e, err := range rows.List(ctx, table.Query[table.Row]{Partition: keys.RawPartition("M"), Rows: keys.RawRow("last_Jones").Point()}) {
		if err != nil {
			t.Errorf("soon: lists of M: %v", err)
			break
		}
		ids, _ := e.Value.Get("IDs")
		lists = append(lists, fmt.Sprint(ids))
	}
	e, err := rows.Get(ctx, keys.At(keys.RawPartition("M"), keys.RawRow("last_Jones")))
	noError(t, err)
	ids, _ := e.Value.Get("IDs")
	testkit.Expect(t, "lists of M", lists, []string{fmt.Sprint(ids)})
	for _, r := range s.Rows("people") {
		if strings.HasPrefix(r.RowKey, "~") {
			_, err := client.DeleteEntity(ctx, r.PartitionKey, r.RowKey, nil)
			noError(t, err)
		}
	}
	reader, _ = townProgram(t, s.Service, muchLater())
	var got []int
	for e, err := range reader.List(ctx, table.Query[resident]{Partition: dept.PartitionKey("M")}) {
		noError(t, err)
		got = append(got, e.Value.ID)
	}
	testkit.Expect(t, "a day later: residents of M", got, []int{1, 3})
}

// inBoth counts the residents in a row of each of two tables, in partitions of one name.
type inBoth []*table.Table[table.Row]

func (inBoth) Name() string { return "both" }
func (inBoth) MaxRows() int { return 1 }
func (m inBoth) Maintain(ctx context.Context, p *extend.Plan, _ *extend.Change[resident]) error {
	for i, in := range m {
		q, err := door.Participant(p, door.Table(in), "X")
		if err != nil {
			return err
		}
		r, err := q.Load(ctx, keys.RawRow("count"))
		if err != nil {
			return err
		}
		n := int64(100 * i)
		if r != nil {
			stored, _ := r.Get("N")
			n, _ = stored.(int64)
		}
		r = &table.Row{Key: keys.Raw("X", "count")}
		if err := errors.Join(r.Set("N", n+1), q.Put(r)); err != nil {
			return err
		}
	}
	return nil
}

// TestParticipantTables: a write over partitions of one name in two tables changes each of them, and finds what it has prepared in each.
func TestParticipantTables(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	base, err := bare.NewTable(acc.Tables(), "people", peopleSchema, noWaitOptions())
	noError(t, err)
	noError(t, tabledoor.Ensure(ctx, base))
	var both inBoth
	for _, name := range []string{"first", "second"} {
		in, err := bare.NewTable(acc.Tables(), name, table.Schema[table.Row]{}, noWaitOptions())
		noError(t, err)
		noError(t, tabledoor.Ensure(ctx, in))
		both = append(both, in)
	}
	people, err := baretest.WithOutbox(base, &memoryOutbox{}, both)
	noError(t, err)
	counts := func() (all []string) {
		for _, name := range []string{"first", "second"} {
			for _, r := range s.Rows(name) {
				if r.RowKey == "count" {
					all = append(all, fmt.Sprintf("%s %s %v %v", name, r.PartitionKey, r.Get("N"), r.Get("_tx")))
				}
			}
		}
		return all
	}
	for i := range 3 {
		insertAll(t, people, s, resident{"S", i, "Jones", fmt.Sprint("a", i)})
		testkit.Expect(t, "counts", counts(), []string{fmt.Sprintf("first X %d <nil>", i+1), fmt.Sprintf("second X %d <nil>", i+101)})
	}
	s.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Times(3, storagetest.LostResponse())))
	insertAll(t, people, s, resident{"S", 3, "Jones", "a3"})
	s.SetFaults(nil)
	testkit.Expect(t, "counts after lost responses", counts(), []string{"first X 4 <nil>", "second X 104 <nil>"})
}
