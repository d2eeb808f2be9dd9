package table_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// keyAndETag returns an entity with the key and the ETag alone, as a program makes it that has stored them.
func keyAndETag(e *table.Entity[employee]) *table.Entity[employee] {
	return &table.Entity[employee]{Key: e.Key, ETag: e.ETag}
}

// renewingWrites are writes of employee 1, some of them beside others, that renew the ETag of an entity.
var renewingWrites = map[string]func(context.Context, *table.Table[employee], *table.Entity[employee]) (*table.Entity[employee], error){
	"Upsert, merging": func(ctx context.Context, staff *table.Table[employee], _ *table.Entity[employee]) (*table.Entity[employee], error) {
		return staff.Upsert(ctx, &employee{"Sales", 1, "Smith", 50}, table.MergeExisting)
	},
	"Upsert, replacing": func(ctx context.Context, staff *table.Table[employee], _ *table.Entity[employee]) (*table.Entity[employee], error) {
		return staff.Upsert(ctx, &employee{"Sales", 1, "Smith", 50}, table.ReplaceExisting)
	},
	"Insert": func(ctx context.Context, staff *table.Table[employee], _ *table.Entity[employee]) (*table.Entity[employee], error) {
		return staff.Insert(ctx, &employee{"Sales", 7, "New", 50})
	},
	"Replace": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) (*table.Entity[employee], error) {
		e.Value.Age = 50
		return e, staff.Replace(ctx, e)
	},
	"Merge": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) (*table.Entity[employee], error) {
		return e, staff.Merge(ctx, e, age.Set(50))
	},
	"Merge by key and ETag": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) (*table.Entity[employee], error) {
		e = keyAndETag(e)
		return e, staff.Merge(ctx, e, age.Set(50))
	},
	"Touch": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) (*table.Entity[employee], error) {
		return e, baretest.Touch(ctx, staff, e)
	},
	"Touch by key and ETag": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) (*table.Entity[employee], error) {
		e = keyAndETag(e)
		return e, baretest.Touch(ctx, staff, e)
	},
	"Pin": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) (*table.Entity[employee], error) {
		_, err := table.Transact(ctx, staff.InsertOp(&employee{"Sales", 2, "Other", 1}), tabledoor.PinOp(staff, e))
		return e, err
	},
	"Pin by key and ETag": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) (*table.Entity[employee], error) {
		e = keyAndETag(e)
		_, err := table.Transact(ctx, staff.InsertOp(&employee{"Sales", 2, "Other", 1}), tabledoor.PinOp(staff, e))
		return e, err
	},
	"Merge beside others": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) (*table.Entity[employee], error) {
		e = keyAndETag(e)
		_, err := table.Transact(ctx, staff.InsertOp(&employee{"Sales", 2, "Other", 1}), staff.MergeOp(e, age.Set(50)))
		return e, err
	},
	"Upsert beside others": func(ctx context.Context, staff *table.Table[employee], e *table.Entity[employee]) (*table.Entity[employee], error) {
		r, err := table.Transact(ctx, staff.InsertOp(&employee{"Sales", 2, "Other", 1}), staff.UpsertOp(&employee{"Sales", 1, "Smith", 50}, table.MergeExisting))
		return table.Stored[employee](r, 1), err
	},
}

// TestHeldVersion: after a lost response and a concurrent write, an entity has the ETag of the version that it wrote, or one
// that no row has. So a write with that ETag cannot overwrite content that its caller has not seen.
func TestHeldVersion(t *testing.T) {
	t.Parallel()
	type writer func(context.Context, *table.Table[employee], *aztables.Client, *table.Entity[employee])
	update := func(ctx context.Context, raw *aztables.Client, e *table.Entity[employee], mode aztables.UpdateMode) {
		always := azcore.ETagAny
		body := fmt.Appendf(nil, `{"PartitionKey":"Sales","RowKey":%q,"Age":99,"LastName":"Secret"}`, e.Key.RowKey())
		_, err := raw.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{IfMatch: &always, UpdateMode: mode})
		noError(t, err)
	}
	writers := map[string]writer{
		"none": func(context.Context, *table.Table[employee], *aztables.Client, *table.Entity[employee]) {},
		"a writer": func(ctx context.Context, staff *table.Table[employee], _ *aztables.Client, e *table.Entity[employee]) {
			_, err := staff.Update(ctx, e.Key, func(v *employee) error { v.Last = "Secret"; return nil })
			noError(t, err)
		},
		"a raw writer that replaces": func(ctx context.Context, _ *table.Table[employee], raw *aztables.Client, e *table.Entity[employee]) {
			update(ctx, raw, e, aztables.UpdateModeReplace)
		},
		"a raw writer that merges": func(ctx context.Context, _ *table.Table[employee], raw *aztables.Client, e *table.Entity[employee]) {
			update(ctx, raw, e, aztables.UpdateModeMerge)
		},
		"a writer that deletes and inserts": func(ctx context.Context, staff *table.Table[employee], _ *aztables.Client, e *table.Entity[employee]) {
			noError(t, staff.DeleteAny(ctx, e.Key))
			_, err := staff.Insert(ctx, &employee{"Sales", e.Value.ID, "Secret", 1})
			noError(t, err)
		},
	}
	for name, write := range renewingWrites {
		for other, interfere := range writers {
			if name == "Touch by key and ETag" && other == "a raw writer that merges" {
				continue // the write has changed only the operation ID, and such a writer keeps that
			}
			for _, c := range []struct{ exact, read bool }{{}, {exact: true}, {read: true}, {true, true}} {
				t.Run(fmt.Sprintf("%s/%s/%+v", name, other, c), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						ctx := context.Background()
						staff, one, s := staffInMemory(t, nil)
						e := *one
						written := e
						if name == "Insert" {
							written.Key, written.Value.ID = employeeKey("Sales", 7), 7
						}
						loseFirstResponse(s, c.read, func() { interfere(ctx, staff, sdkClientOf(t, s).NewClient("staff"), &written) })
						h := staff
						if c.exact {
							h = staff.Exact()
						}
						held, err := write(ctx, h, &e)
						s.BeforeRequest = nil
						if unknown := (*table.UnknownError)(nil); errors.As(err, &unknown) {
							if done, rerr := unknown.Resolve(ctx); !done || rerr != nil {
								t.Fatalf("resolved: got %v, %v; want done and rerr == nil", done, rerr)
							}
						} else if err != nil {
							return // a failed write does not renew its entity
						}
						requireOwnVersion(t, s, held, other == "none" && name != "Pin by key and ETag") // a pinned entity has no known content
					})
				})
			}
		}
	}
}

// requireOwnVersion fails if the entity has the ETag of a concurrent writer's version. If alone is true, the entity must have
// the ETag of the row.
func requireOwnVersion(t testing.TB, s *testkit.Hooked, held *table.Entity[employee], alone bool) {
	t.Helper()
	for _, row := range s.Rows("staff") {
		if row.RowKey != held.Key.RowKey() {
			continue
		}
		if fits := row.ETag == string(held.ETag); fits && row.Get("LastName") == "Secret" {
			t.Errorf(`got ETag %s of a concurrent writer's version %+v; want that of the own version`, held.ETag, row)
		} else if alone && !fits {
			t.Errorf("got ETag %s; want %s, that of the row", held.ETag, row.ETag)
		}
		return
	}
}

// TestHeldVersionResolved: TestHeldVersion for an outcome that was resolved later.
func TestHeldVersionResolved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, e, s := staffInMemory(t, noWaitOptions())
	held := keyAndETag(e)
	unknown := unknownMerge(t, staff.Exact(), held, s, storagetest.LostResponse())
	_, err := staff.Update(ctx, e.Key, func(v *employee) error { v.Last = "Secret"; return nil })
	noError(t, err)
	if done, err := unknown.Resolve(ctx); !done || err != nil {
		t.Fatalf("resolved: got %v, %v; want true, none", done, err)
	}
	requireOwnVersion(t, s, held, false)
	if err := staff.Delete(ctx, held); !errors.Is(err, table.ErrChanged) {
		t.Errorf("a delete of a concurrent writer's version: got %v; want ErrChanged", err)
	}
}
