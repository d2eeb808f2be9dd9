package table_test

import (
	"context"
	"errors"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/table"
)

// TestGuarded: a program that is older than what others derive from its entities cannot break that, whichever verb it uses: each
// looks at the row, and refuses.
func TestGuarded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := town(t, nil)
	put(t, people, s, resident{"S", 1, "Jones", "a"})
	guarded := func() *table.Options {
		o := &table.Options{Guarded: true}
		o.Retry.Wait, o.Retry.Delay = -1, -1
		return o
	}
	old := peopleOf(s.ConnectionString(), s, guarded())
	anew := &resident{"S", 1, "Smith", "b"}
	bulk := func(ctx context.Context, op table.Op) error {
		_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) { yield(op, nil) }, nil)
		return err
	}
	made := func() *table.Entity[resident] {
		for _, row := range s.Rows("people") {
			if row.RowKey == "p_000001" {
				return &table.Entity[resident]{Key: residentAt(1), Value: *anew, ETag: azcore.ETag(row.ETag)}
			}
		}
		t.Fatal("it is gone")
		return nil
	}
	before := s.Rows("people")
	for what, write := range map[string]func() error{
		"Upsert":                      func() error { _, err := old.Upsert(ctx, anew, table.ReplaceExisting); return err },
		"Upsert, merging":             func() error { _, err := old.Upsert(ctx, anew, table.MergeExisting); return err },
		"MergeAny":                    func() error { return old.MergeAny(ctx, residentAt(1), lastName.Set("Smith")) },
		"DeleteAny":                   func() error { return old.DeleteAny(ctx, residentAt(1)) },
		"Merge of what was not read":  func() error { return old.Merge(ctx, made(), lastName.Set("Smith")) },
		"Delete of what was not read": func() error { return old.Delete(ctx, made()) },
		"Transact": func() error {
			_, err := table.Transact(ctx, old.InsertOp(&resident{"S", 2, "Cao", ""}), old.MergeAnyOp(residentAt(1), lastName.Set("Smith")))
			return err
		},
		"Bulk of Upserts": func() error { return bulk(ctx, old.UpsertOp(anew, table.ReplaceExisting)) },
		"Bulk of deletes": func() error { return bulk(ctx, old.DeleteAnyOp(residentAt(1))) },
		"exact":           func() error { return old.Exact().DeleteAny(ctx, residentAt(1)) },
		"what was read": func() error {
			e, err := old.Get(ctx, residentAt(1))
			check(err)
			return old.ReplaceAny(ctx, e)
		},
	} {
		if err := write(); !errors.Is(err, table.ErrUnknownMaintainer) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := s.Rows("people"); len(after) != len(before) || after[0].ETag != before[0].ETag {
		t.Error("something was written:", after)
	}
	// What nobody derives anything from costs one request more, and only where the verb did not look before.
	plain := peopleOf(s.ConnectionString(), s, guarded())
	s.Count()
	e, err := plain.Insert(ctx, &resident{"T", 1, "Jones", ""})
	check(err)
	check(plain.Merge(ctx, e, lastName.Set("Smith")))
	if got := s.Count(); got != "1 insert, 1 merge" {
		t.Error(got)
	}
	check(plain.MergeAny(ctx, e.Key, lastName.Set("Cao")))
	check(plain.DeleteAny(ctx, e.Key))
	if got := s.Count(); got != "1 delete, 2 get, 1 merge" {
		t.Error(got)
	}
}
