package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestReadBeforeBlindWrite: a program without the maintainers of a row cannot write the row, whichever method it calls. Each
// method reads the row first and refuses.
func TestReadBeforeBlindWrite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	insertAll(t, people, s, resident{"S", 1, "Jones", "a"})
	readsFirst := func() *table.Options {
		o := &table.Options{}
		o.Retry.Wait, o.Retry.ConflictWait = -1, -1
		return o
	}
	old := peopleOf(t, s, readsFirst())
	anew := &resident{"S", 1, "Smith", "b"}
	bulk := func(ctx context.Context, op table.Op) error {
		_, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) { yield(op, nil) }, nil)
		return err
	}
	made := func() *table.Entity[resident] {
		for _, row := range s.Rows("people") {
			if row.RowKey == "p_000001" {
				return &table.Entity[resident]{Key: residentAt(1), Value: *anew, ETag: azcore.ETag(row.ETag)}
			}
		}
		t.Fatal("got no row of resident 1")
		return nil
	}
	before := s.Rows("people")
	for what, write := range map[string]func() error{
		"Upsert":                     func() error { _, err := old.Upsert(ctx, anew, table.ReplaceExisting); return err },
		"Upsert, merging":            func() error { _, err := old.Upsert(ctx, anew, table.MergeExisting); return err },
		"MergeAny":                   func() error { return old.MergeAny(ctx, residentAt(1), lastName.Set("Smith")) },
		"DeleteAny":                  func() error { return old.DeleteAny(ctx, residentAt(1)) },
		"Merge of an unread entity":  func() error { return old.Merge(ctx, made(), lastName.Set("Smith")) },
		"Delete of an unread entity": func() error { return old.Delete(ctx, made()) },
		"Transact": func() error {
			_, err := table.Transact(ctx, old.InsertOp(&resident{"S", 2, "Cao", ""}), baretest.MergeAnyOp(old, residentAt(1), lastName.Set("Smith")))
			return err
		},
		"Bulk of Upserts": func() error { return bulk(ctx, old.UpsertOp(anew, table.ReplaceExisting)) },
		"Bulk of deletes": func() error { return bulk(ctx, old.DeleteAnyOp(residentAt(1))) },
		"exact":           func() error { return old.Exact().DeleteAny(ctx, residentAt(1)) },
		"ReplaceAny of a loaded entity": func() error {
			e, err := old.Get(ctx, residentAt(1))
			noError(t, err)
			return old.ReplaceAny(ctx, e)
		},
	} {
		if err := write(); !errors.Is(err, table.ErrNotDeclared) {
			t.Errorf("%s: got %v; want ErrUnknownMaintainer", what, err)
		}
	}
	if after := s.Rows("people"); len(after) != len(before) || after[0].ETag != before[0].ETag {
		t.Errorf("got %v; want %v unchanged", after, before)
	}
	// A write of a row without derived rows costs one request more, if the method has not read the row.
	base := peopleOf(t, s, readsFirst())
	s.Count()
	e, err := base.Insert(ctx, &resident{"T", 1, "Jones", ""})
	noError(t, err)
	noError(t, base.Merge(ctx, e, lastName.Set("Smith")))
	if got := s.Count().String(); got != "1 insert, 1 merge" {
		t.Errorf("got %q; want %q", got, "1 insert, 1 merge")
	}
	noError(t, base.MergeAny(ctx, e.Key, lastName.Set("Cao")))
	noError(t, base.DeleteAny(ctx, e.Key))
	if got := s.Count().String(); got != "1 delete, 2 get, 1 merge" {
		t.Errorf("got %q; want %q", got, "1 delete, 2 get, 1 merge")
	}
}

// TestReadBeforeBlindWriteDecodesNothing: the read before a blind write does not decode the row, and does not make a partial
// entity whole.
func TestReadBeforeBlindWriteDecodesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, blind := range []bool{false, true} {
		_, s := newTown(t, nil)
		o := &table.Options{BlindWrites: blind}
		p := peopleOf(t, s, o)
		w, err := p.Upsert(ctx, &resident{"S", 1, "Jones", "a"}, table.ReplaceExisting)
		noError(t, err)
		e := &table.Entity[resident]{Key: residentAt(1), Value: resident{Dept: "S", ID: 1}, ETag: w.ETag}
		noError(t, p.Merge(ctx, e, lastName.Set("Cao")))
		if err := p.Replace(ctx, e); !errors.Is(err, table.ErrNotRead) {
			t.Errorf("%v: got %v; want ErrPartial", blind, err)
		}
		noError(t, baretest.Touch(ctx, p, e))
		if err := p.Replace(ctx, e); !errors.Is(err, table.ErrNotRead) {
			t.Errorf("%v: got %v; want ErrPartial", blind, err)
		}

		// Rows of older versions, and of other types.
		v1, v2 := peopleSchema, peopleSchema
		v1.Type, v1.Version, v2.Type, v2.Version = "p", 1, "p", 2
		v2.Upgrade = map[int]func(*table.Row) error{1: func(r *table.Row) error {
			if _, ok := r.Get("Last"); !ok {
				return errors.New("the row is partial")
			}
			return nil
		}}
		one, err := bare.NewTable(serviceOf(t, s), "people", v1, o)
		noError(t, err)
		two, err := bare.NewTable(serviceOf(t, s), "people", v2, o)
		noError(t, err)
		_, err = one.Insert(ctx, &resident{"T", 1, "Jones", "a"})
		noError(t, err)
		if _, err := table.BulkDelete(ctx, two, table.Query[resident]{Partition: dept.PartitionKey("T")}, nil); err != nil {
			t.Errorf("%v: got %v; want no error", blind, err)
		}
		other := peopleSchema
		other.Type = "robot"
		robots, err := bare.NewTable(serviceOf(t, s), "people", other, o)
		noError(t, err)
		_, err = one.Insert(ctx, &resident{"T", 1, "Jones", "a"})
		noError(t, err)
		if _, err := robots.Upsert(ctx, &resident{"T", 1, "R2", ""}, table.ReplaceExisting); err != nil {
			t.Errorf("%v: got %v; want no error", blind, err)
		}
	}
	people, s := newTown(t, nil)
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	partial := &table.Entity[resident]{Key: e.Key, Value: resident{Dept: "S", ID: 1}, ETag: e.ETag}
	noError(t, people.Merge(ctx, partial, lastName.Set("Cao")))
	if err := people.Replace(ctx, partial); !errors.Is(err, table.ErrNotRead) {
		t.Errorf("with maintainers: got %v; want ErrPartial", err)
	}
}

// TestConcurrentReads: a transaction reads the rows of its operations concurrently, also if they do not lie close together.
func TestConcurrentReads(t *testing.T) {
	t.Parallel()
	for _, exact := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			_, s := newTown(t, nil)
			people := peopleOf(t, s, &table.Options{})
			if exact {
				people = people.Exact()
			}
			const others = 300 // between the first row and the second
			_, err := door.Bulk(ctx, stream(others, func(i int) table.Op { return people.InsertOp(&resident{"S", i + 1, "Cao", ""}) }), nil)
			noError(t, err)
			s.Count()
			s.SetFaults(storagetest.OfKind(requests.Get, storagetest.Slow(time.Second)))
			start := time.Now()
			r, err := door.Bulk(ctx, stream(200, func(i int) table.Op {
				return people.UpsertOp(&resident{"S", min(i, 1) * (others + i), "Jones", ""}, table.ReplaceExisting)
			}), nil)
			took, want := time.Since(start), 20*time.Second // ten at a time
			if got := s.Count().String(); err != nil || r.Applied != 200 || took > want+time.Second || !strings.HasPrefix(got, "199 get, 1 query, ") {
				t.Errorf("exact=%v: got %+v, %v, %s in %v; want 199 get, 1 query in %v", exact, r, err, got, took, want)
			}
		})
	}
}

// TestReadForbidden: the error of a client without read permission names BlindWrites. With that option the client can write.
func TestReadForbidden(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	o := &account.Options{Client: azcore.ClientOptions{Transport: s}}
	owner, err := account.FromConnectionString(s.ConnectionString(), o)
	noError(t, err)
	staff := newStaff(t, owner.Tables())
	noError(t, tabledoor.Ensure(ctx, staff))
	e, err := staff.Insert(ctx, &employee{"Sales", 223, "Jones", 44})
	noError(t, err)
	url, err := owner.TableSAS(account.Grant{Table: "staff", Update: true, Delete: true, Expiry: s.Now().Add(time.Hour), AllowHTTP: true})
	noError(t, err)
	holder, err := account.FromSAS(account.Endpoints{Table: url}, o)
	noError(t, err)
	tab, err := bare.NewTable(holder.Tables(), "staff", staffSchema, nil)
	noError(t, err)
	var re *azcore.ResponseError
	if err := tab.DeleteAny(ctx, e.Key); !errors.As(err, &re) || re.StatusCode != 403 || !strings.Contains(err.Error(), "BlindWrites") {
		t.Errorf("got %v; want a 403 that names BlindWrites", err)
	}
	tab, err = bare.NewTable(holder.Tables(), "staff", staffSchema, blindOptions())
	noError(t, err)
	if err := tab.DeleteAny(ctx, e.Key); err != nil {
		t.Errorf("got %v; want none", err)
	}
}
