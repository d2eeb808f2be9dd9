package index_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// part is an entity with a property of each type.
type part struct {
	Dept   string
	ID     int
	Text   string
	Small  int32
	Large  int64
	Float  float64
	Flag   bool
	Time   time.Time
	GUID   [16]byte
	Binary []byte
}

var (
	partFlag   = table.FieldOf(func(p *part) *bool { return &p.Flag })
	partFloat  = table.FieldOf(func(p *part) *float64 { return &p.Float })
	partSchema = table.Schema[part]{
		Partition: keys.Partition(dept, func(p *part) *string { return &p.Dept }),
		Row:       keys.Row(keys.Digits[int](6).Named("part"), func(p *part) *int { return &p.ID }),
	}
	partSmall = func(p *part) (int32, bool) { return p.Small, true }
	partsFull = index.New("full", keys.Digits[int32](3), partSmall, nil)
	partsSome = index.New("some", keys.Digits[int32](3), partSmall, nil).Only(partFlag, partFloat, table.FieldOf(func(p *part) *int32 { return &p.Small }))
	partsKeys = index.New("keys", keys.Digits[int32](3), partSmall, nil).Only()
)

// overwriteTyped changes a row as another program does that keeps the types of its properties.
func overwriteTyped(t *testing.T, s *storagetest.Service, rowKey string, f func(columns map[string]any)) {
	t.Helper()
	ctx, c := context.Background(), s.Tables().NewClient("staff")
	got, err := c.GetEntity(ctx, "S", rowKey, nil)
	check(t, err)
	columns := map[string]any{}
	check(t, json.Unmarshal(got.Value, &columns))
	for name := range columns {
		if name == "Float" { // a whole number would lose its type
			columns[name+"@odata.type"] = "Edm.Double"
		}
		if strings.HasPrefix(name, "odata.") || name == "Timestamp" {
			delete(columns, name)
		}
	}
	f(columns)
	body, err := json.Marshal(columns)
	check(t, err)
	_, err = c.UpsertEntity(ctx, body, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	check(t, err)
}

// TestChangedCopies: verify.Check finds each property in which a copy differs from its entity, and
// no other difference. Equal copies take no request each.
func TestChangedCopies(t *testing.T) {
	t.Parallel()
	const entity = "part_000002"
	all := []string{"Text", "Small", "Large", "Float", "Flag", "Time", "GUID", "Binary"}
	other := map[string][2]any{
		"Text": {"ü\"", "Edm.String"}, "Small": {8, "Edm.Int32"}, "Large": {"8", "Edm.Int64"}, "Float": {2.5, "Edm.Double"}, "Flag": {false, "Edm.Boolean"},
		"Time": {"2024-05-06T07:08:10.1234567Z", "Edm.DateTime"}, "GUID": {"00000000-0000-0000-0000-000000000001", "Edm.Guid"}, "Binary": {"AQID", "Edm.Binary"},
	}
	copied := map[string][]string{"full": all, "some": {"Small", "Float", "Flag"}, "keys": nil}
	for changed := range map[string]bool{entity: true, "full_007_" + entity: true, "some_007_" + entity: true, "keys_007_" + entity: true} {
		t.Run(changed, func(t *testing.T) {
			t.Parallel()
			staff, s := newParts(t)
			for _, name := range all {
				if changed == entity && name == "Small" { // changes the keys of the rows
					continue
				}
				for _, c := range []struct {
					how    string
					change func(m map[string]any)
				}{
					{"the same", func(m map[string]any) {}},
					{"another value", func(m map[string]any) { m[name], m[name+"@odata.type"] = other[name][0], other[name][1] }},
					{"another type", func(m map[string]any) { m[name], m[name+"@odata.type"] = "text", "Edm.String" }},
					{"no value", func(m map[string]any) { delete(m, name); delete(m, name+"@odata.type") }},
				} {
					how := c.how
					if how == "another type" && (name == "Text" || changed == entity) { // the entity would be unreadable
						continue
					}
					want := map[string]bool{}
					for definition, names := range copied {
						row := definition + "_007_" + entity
						differs := how != "the same" && (changed == entity && slices.Contains(names, name) || changed == row && (slices.Contains(names, name) || how != "no value"))
						if differs {
							want[row] = true
						}
					}
					overwriteTyped(t, s, changed, c.change)
					s.Count()
					for _, repair := range []bool{false, true} {
						got := map[string]bool{}
						r, err := verify.Repair(context.Background(), staff, &verify.Options{Pass: table.Pass{DryRun: !repair, Partitions: sales.Point()}, Fault: func(f verify.Fault) {
							if f.Kind == verify.Stale && f.Entity.RowKey() == entity {
								got[f.Row.RowKey()] = true
							}
						}})
						check(t, err)
						if n := len(want); !maps.Equal(got, want) || r.Counts[verify.Stale] != n || (r.Faults == 0) != (repair || n == 0) {
							t.Errorf("%s of %s is %s, repair %v: got stale rows %v and report %+v; want %v", name, changed, how, repair, got, r, want)
						}
						if counts := s.Count(); len(want) == 0 && counts.String() != "4 query" {
							t.Errorf("%s of %s is %s: got requests %v; want 4 queries, as no row differs", name, changed, how, counts)
						}
					}
				}
			}
		})
	}
}

// newParts returns a table of three parts with all indexes.
func newParts(t *testing.T) (*table.Table[part], *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	base := openAs(t, s.ConnectionString(), s, partSchema)
	check(t, tabledoor.Ensure(context.Background(), base))
	staff, err := baretest.Attach(base, partsFull, partsSome, partsKeys)
	check(t, err)
	for i := range 3 {
		_, err = staff.Insert(context.Background(), &part{"S", 1 + i, "text", 7, 1 << 60, 1.5, true, time.Date(2024, 5, 6, 7, 8, 9, 123456700, time.UTC), [16]byte{1}, []byte{1}})
		check(t, err)
	}
	return staff, s
}
