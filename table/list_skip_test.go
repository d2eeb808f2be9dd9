package table_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestListSkip: a row that cannot be decoded ends a list, unless Query.Skip returns true. Then the row is counted, and the
// cursor passes it.
func TestListSkip(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, _, s := staffInMemory(t, nil)
	for i := 2; i <= 9; i++ {
		_, err := staff.Insert(ctx, &employee{"Sales", i, "Jones", 1})
		noError(t, err)
	}
	for _, id := range []int{3, 4, 9} {
		_, err := sdkClientOf(t, s).NewClient("staff").UpsertEntity(ctx, fmt.Appendf(nil, `{"PartitionKey":"Sales","RowKey":"empid_%06d","Age":"old"}`, id), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
		noError(t, err)
	}
	list := func(q table.Query[employee]) (ids []int, err error) {
		for e, err := range staff.List(ctx, q) {
			if err != nil {
				return ids, err
			}
			ids = append(ids, e.Value.ID)
		}
		return ids, nil
	}
	var de *table.DecodeError
	ids, err := list(table.Query[employee]{Partition: dept.PartitionKey("Sales")})
	if got, want := fmt.Sprint(ids), "[1 2]"; got != want || !errors.As(err, &de) || de.Field != "Age" {
		t.Errorf("without Skip: got %s, %v; want %s and a *DecodeError of Age", got, err, want)
	}
	if err == nil || !strings.HasSuffix(err.Error(), "(the list ends at this row; Query.Skip can leave it out)") || !strings.Contains(err.Error(), "staff('Sales','empid_000003'): property Age: ") {
		t.Errorf("without Skip: got error %v; want one that names the row, the property and Query.Skip", err)
	}
	_, pageErr := staff.Page(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales"), Limit: 5}, "")
	ages, err := table.ViewOf[struct{ Age int32 }](staff)
	noError(t, err)
	_, viewErr := table.Collect(ages.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}))
	for method, err := range map[string]error{"Page": pageErr, "List of a view": viewErr} {
		if err == nil || !strings.HasSuffix(err.Error(), "(the list ends at this row; Query.Skip can leave it out)") {
			t.Errorf("%s without Skip: got error %v; want one that names Query.Skip", method, err)
		}
	}
	for _, page := range []int{1, 2, 3, 1000} {
		var skipped []string
		var stats table.Stats
		q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), PageSize: page, Stats: &stats, Cursor: new(table.Cursor), Skip: func(k keys.Key, err error) bool {
			if !errors.As(err, &de) {
				t.Errorf("Skip was called with %v; want a *DecodeError", err)
			}
			skipped = append(skipped, k.RowKey())
			return true
		}}
		ids, err = list(q)
		if got, want := fmt.Sprint(ids, skipped), "[1 2 5 6 7 8] [empid_000003 empid_000004 empid_000009]"; got != want || err != nil || stats.Skipped != 3 || !q.Cursor.Done() {
			t.Errorf("pages of %d: got %s, %v, %+v, done %v; want %s", page, got, err, stats, q.Cursor.Done(), want)
		}
	}
	ids, err = list(table.Query[employee]{Partition: dept.PartitionKey("Sales"), Skip: func(k keys.Key, _ error) bool { return k.RowKey() != "empid_000004" }})
	if got, want := fmt.Sprint(ids), "[1 2]"; got != want || !errors.As(err, &de) {
		t.Errorf("Skip returns false: got %s, %v; want %s and a *DecodeError", got, err, want)
	}
	s.SetFaults(storagetest.OfKind(requests.Query, storagetest.Refuse(403, "AuthorizationFailure")))
	if _, err := list(table.Query[employee]{Partition: dept.PartitionKey("Sales"), Skip: func(keys.Key, error) bool { return true }}); err == nil {
		t.Error("got no error for a failed request; want one, since Skip is for rows")
	}
}
