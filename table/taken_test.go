package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestTakenValue: another program has written residents without their maintainer state, so that the plan of a transaction does not know
// the rows of their addresses. If an address is taken, its row is read. It is free if its owner is the entity that takes it, or one that the
// transaction deletes with its derived rows. Otherwise the error names the owner, and nothing is sent again.
func TestTakenValue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type town struct {
		people, base *table.Table[resident]
		es           []*table.Entity[resident] // 1 and 2, with the addresses a and b
	}
	insert := func(x town, id int, mail string) table.Op {
		return x.people.InsertOp(&resident{"S", id, "New", mail})
	}
	for what, c := range map[string]struct {
		ops          func(town) []table.Op
		owner        int // in the error, 0 for none
		transactions int
	}{
		"its owner is deleted": {func(x town) []table.Op {
			return []table.Op{x.people.DeleteOp(x.es[0]), insert(x, 3, "a")}
		}, 0, 2},
		"its owner takes it": {func(x town) []table.Op {
			return []table.Op{x.people.ReplaceOp(x.es[0])}
		}, 0, 2},
		"another entity is deleted": {func(x town) []table.Op {
			return []table.Op{x.people.DeleteOp(x.es[1]), insert(x, 3, "a")}
		}, 1, 1},
		"its owner is changed": {func(x town) []table.Op {
			x.es[0].Value.Email = ""
			return []table.Op{x.people.ReplaceOp(x.es[0]), insert(x, 3, "a")}
		}, 1, 1},
		"its owner is deleted without its derived rows": {func(x town) []table.Op {
			return []table.Op{x.base.DeleteAnyOp(residentAt(1)), insert(x, 3, "a")}
		}, 1, 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := &testkit.Hooked{Service: storagetest.New(nil)}
			base := peopleOf(t, s, nil)
			noError(t, tabledoor.Ensure(ctx, base))
			people, err := bare.With(base, byEmail{names: true})
			noError(t, err)
			x := town{people, base, insertAll(t, people, s, resident{"S", 1, "Jones", "a"}, resident{"S", 2, "Smith", "b"})}
			client := s.Service.Tables().NewClient("people")
			for i, e := range x.es {
				_, err := client.UpsertEntity(ctx, []byte(`{"PartitionKey":"S","RowKey":"`+e.Key.RowKey()+`","Last":"`+e.Value.Last+`","Email":"`+e.Value.Email+`"}`), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
				noError(t, err)
				x.es[i], err = people.Get(ctx, e.Key)
				noError(t, err)
			}
			transactions := 0
			beforeBatch(s, func(n int) { transactions = n })
			_, err = table.Transact(ctx, c.ops(x)...)
			if transactions != c.transactions {
				t.Errorf("got %d transactions; want %d", transactions, c.transactions)
			}
			var de *table.DerivedError
			switch {
			case c.owner == 0 && err != nil:
				t.Errorf("got error %v; want none", err)
			case c.owner > 0 && (!errors.Is(err, errTaken) || !errors.As(err, &de) || de.Owner.RowKey() != residentAt(c.owner).RowKey()):
				t.Errorf("got error %v; want errTaken, and resident %d as the owner", err, c.owner)
			}
		})
	}
}

// looking is byEmail that looks at the row of the address after it has planned it.
type looking struct{ byEmail }

func (m looking) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[resident]) error {
	err := m.byEmail.Maintain(ctx, p, c)
	if err == nil && c.New != nil {
		_, err = p.Load(ctx, keys.RawRow("email_"+c.New.Email))
	}
	return err
}

// TestTakenValueLooked: a maintainer that also loads the row of a unique value does not take the value from its owner.
func TestTakenValueLooked(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	base := peopleOf(t, s, nil)
	noError(t, tabledoor.Ensure(ctx, base))
	people, err := bare.With(base, byEmail{names: true})
	noError(t, err)
	insertAll(t, people, s, resident{"S", 1, "Jones", "a"})
	before := storedPeople(s)
	curious, err := bare.With(base, looking{byEmail{names: true}})
	noError(t, err)
	if _, err := curious.Insert(ctx, &resident{"S", 2, "Smith", "a"}); !errors.Is(err, errTaken) {
		t.Errorf("got error %v; want errTaken", err)
	}
	if now := storedPeople(s); now != before {
		t.Errorf("got the rows %s; want those of before, %s", now, before)
	}
	if _, err := curious.Insert(ctx, &resident{"S", 2, "Smith", "b"}); err != nil || !strings.Contains(storedPeople(s), "email_b") {
		t.Errorf("got error %v and the rows %s; want a row of the free address", err, storedPeople(s))
	}
}
