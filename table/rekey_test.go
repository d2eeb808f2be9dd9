package table_test

import (
	"context"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestRekeyRows: a row of any type moves with all that it holds, and is then the row under its new key.
func TestRekeyRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rows := byHand(&interposed{Service: storagetest.New(nil)})
	check(rows.Ensure(ctx))
	e, err := rows.Insert(ctx, handmade("a", map[string]any{"X": 1}))
	check(err)
	to := keys.Stored(e.Key.PartitionKey(), "b")
	check(rows.RekeyAt(ctx, e, to))
	if e.Key != to || e.Value.Key != to {
		t.Error(e)
	}
	check(e.Value.Set("X", 2))
	check(rows.Replace(ctx, e))
	got, err := rows.Get(ctx, to)
	check(err)
	if x, _ := got.Value.Get("X"); x != int64(2) {
		t.Error(got)
	}
}

// TestListInOfAnyName: a partition is the same whether a layout has made its key or a row.
func TestListInOfAnyName(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ordered := keys.Tuple1(keys.Ordered())
	named := peopleSchema
	named.Partition = keys.Bind1(ordered, func(p *resident) *string { return &p.Dept })
	s := storagetest.New(nil)
	people, err := table.New(serviceOf(&interposed{Service: s}), "people", named, nil)
	check(err)
	check(people.Ensure(ctx))
	e, err := people.Insert(ctx, &resident{"S", 1, "Jones", ""})
	check(err)
	for partition, other := range map[keys.Enc]keys.Enc{e.Key.Partition(): ordered.Of("S"), ordered.Of("S"): e.Key.Partition()} {
		n := 0
		_, err = table.InPartition(ctx, partition, func(tx *table.Tx) error {
			for _, err := range table.ListIn(tx, people, table.Query[resident]{Partition: other}) {
				if n++; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || n != 1 {
			t.Error(n, err)
		}
	}
}
