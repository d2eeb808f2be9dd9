package records_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestRecords: Records reads, resolves and sweeps commit records, and refuses invalid operation IDs.
func TestRecords(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	o := &table.Options{BlindWrites: true}
	options.SetNow(&o.Common, func() time.Time { return now })
	s := storagetest.New(nil)
	base, err := openStaffOn(s, o)
	noError(t, err)
	e, err := base.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	noError(t, err)
	staff := base.Exact()
	in := records.Of(staff)
	pk := keys.RawPartition("Sales")
	noError(t, staff.Merge(ctx, e, age.Set(50)))
	var all []*commit.Record
	list := func() int {
		all = nil
		for i, err := range in.List(ctx, pk, now.Add(time.Second)) {
			noError(t, err)
			all = append(all, i)
		}
		return len(all)
	}
	if list() != 1 || all[0].State != commit.Done || !all[0].Time().Equal(now) || all[0].Effects != nil {
		t.Errorf("got %v; want list() == 1 and all[0].State == commit.Done and all[0].Time().Equal(now) and all[0].Effects == nil", all)
	}
	op := all[0].OperationID
	if i, err := in.Get(ctx, pk, op); err != nil || i.State != commit.Done {
		t.Errorf("got %+v, %v; want no error and i.State == commit.Done", i, err)
	}
	other := op[:25] + map[bool]string{true: "0", false: "1"}[op[25] != '0']
	if _, err := in.Get(ctx, pk, other); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got %v; want ErrNotFound", err)
	}
	s.Count()
	if i, err := in.Resolve(ctx, pk, other); err != nil || i.State != commit.Aborted || s.Count().String() != "1 get, 1 insert" {
		t.Errorf(`got %+v, %v; want no error and i.State == commit.Aborted and s.Count().String() == "1 get, 1 insert"`, i, err)
	}
	if i, err := in.Resolve(ctx, pk, other); err != nil || i.State != commit.Aborted || s.Count().String() != "1 get" {
		t.Errorf(`got %+v, %v; want no error and i.State == commit.Aborted and s.Count().String() == "1 get"`, i, err)
	}
	if err := in.MarkDone(ctx, &commit.Record{Partition: pk, OperationID: other, State: commit.Aborted}); err == nil {
		t.Error("got no error from MarkDone of an aborted record; want one")
	}
	var ve *table.ValueError
	for _, bad := range []string{"", "x", op + "0", strings.Repeat("Z", 26), strings.Repeat("I", 26), op[:25] + "|"} {
		if _, err := in.Resolve(ctx, pk, bad); !errors.As(err, &ve) {
			t.Errorf("%v: got %v; want a *ValueError", bad, err)
		}
	}
	// A day later, a missing commit record proves nothing. An hour after that, the commit records are swept.
	third := op[:24] + "ZZ"
	now = now.Add(24*time.Hour + time.Second)
	if _, err := in.Resolve(ctx, pk, third); !errors.Is(err, errs.ErrExpired) {
		t.Errorf("got %v; want ErrExpired", err)
	}
	if i, err := in.Resolve(ctx, pk, op); err != nil || i.State != commit.Done {
		t.Errorf("got %+v, %v; want no error and i.State == commit.Done", i, err)
	}
	if n, err := baretest.SweepAll(ctx, staff); n != 0 || err != nil {
		t.Errorf("got %v, %v; want n == 0 and no error", n, err)
	}
	noError(t, staff.Merge(ctx, e, age.Set(51)))
	now = now.Add(time.Hour)
	s.Count()
	if n, err := baretest.SweepAll(ctx, staff); n != 2 || err != nil || s.Count().String() != "3 query, 1 transaction" || list() != 1 {
		t.Errorf(`got %v, %v, %v; want n == 2 and no error and s.Count().String() == "3 query, 1 transaction" and list() == 1`, n, err, all)
	}
	// Lists of entities do not contain commit records.
	n, err := staff.Count(ctx, table.Query[employee]{TableScan: true})
	if n != 1 || err != nil {
		t.Errorf("got %v, %v; want n == 1 and no error", n, err)
	}
}

// TestStoredTypes stores each property of a commit record with each type: a read returns what it returned before, or an error. A record
// without its effects would be done, and its effects lost.
func TestStoredTypes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	staff, err := openStaffOn(s, &table.Options{BlindWrites: true})
	noError(t, err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	noError(t, err)
	n := 0
	for property, own := range map[string]string{"_v": "Int32", "State": "text", "Effects": "text", "Effects1": "text"} {
		for typ, column := range testkit.EachType(property, 1) {
			if typ == own {
				continue
			}
			op := fmt.Sprintf("%026d", n)
			n++
			for _, row := range []string{`"_v":1,"State":"pending","Effects":"[{\"kind\":\"k\",\"row\":\"r\"}]"`, column} {
				body := fmt.Sprintf(`{"PartitionKey":"Sales","RowKey":"~i|%s",%s}`, op, row)
				_, err := s.Tables().NewClient(staff.Name()).UpsertEntity(ctx, []byte(body), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge})
				noError(t, err)
			}
			rec, err := records.Of(staff).Get(ctx, keys.RawPartition("Sales"), op)
			var de *table.DecodeError
			var ve *table.VersionError
			whole := typ == "Int32" || typ == "Int64" || typ == "whole Double"
			switch {
			case property == "_v" && whole:
				if err != nil || rec.State != commit.Pending || len(rec.Effects) != 1 {
					t.Errorf("%s as %s: got record %+v, error %v; want a pending record of 1 effect", property, typ, rec, err)
				}
			case !errors.As(err, &de) && !errors.As(err, &ve):
				t.Errorf("%s as %s: got record %+v, error %v; want a *DecodeError or a *VersionError", property, typ, rec, err)
			}
		}
	}
}

// TestNilHandlesAreNamed: a nil or zero handle panics with the name of the argument.
func TestNilHandlesAreNamed(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(){
		"RecordsOf of nil":          func() { records.Of(nil) },
		"RecordsOf of a zero Table": func() { records.Of(new(table.Table[employee])) },
		"Completing":                func() { records.Completing(new(table.Table[employee]), nil) },
	} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, ": t is nil or a zero Table") {
					t.Errorf("%s: got panic %s; want one that names the argument", name, p)
				}
			}()
			call()
		}()
	}
}
