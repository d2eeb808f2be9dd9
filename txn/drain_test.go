package txn_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/txn"
)

// TestDrainsEachTable: a worker ends the transactions of crashed programs, whichever table they are
// in, also if none of the tables has effects.
func TestDrainsEachTable(t *testing.T) {
	t.Parallel()
	post := func(ctx context.Context, b *bank, table string) error {
		return txn.Run(ctx, b, func(tx *txn.Tx) error {
			for _, of := range []string{"Bern", "Zug"} {
				if table == "ledger" {
					tx.Do(b.ledger.InsertOp(&posting{City: of, ID: "new", Cents: 1}))
				} else {
					tx.Do(b.accounts.InsertOp(&bankAccount{City: of, ID: 9, Cents: 1}))
				}
			}
			return nil
		})
	}
	for _, table := range []string{"accounts", "ledger"} {
		marked := 0
		for dies, ended := 0, false; !ended; dies++ {
			synctest.Test(t, func(t *testing.T) {
				service := storagetest.New(nil)
				b := openBank(service, &aztablekit.Options{Daily: -1})
				testkit.NoError(t, b.Ensure(t.Context()))
				sent := 0
				service.SetFaults(func(storagetest.Request) storagetest.Fault {
					if sent++; sent > dies {
						return storagetest.NotSent()
					}
					return storagetest.Fault{}
				})
				ended = post(t.Context(), b, table) == nil && sent <= dies
				service.SetFaults(nil)
				if left(service, table) != nil {
					marked++
				}
				time.Sleep(2 * time.Minute)
				other := openBank(service, &aztablekit.Options{Daily: -1})
				testkit.NoError(t, other.Drain(t.Context()))
				if err := left(service, "accounts", "ledger"); err != nil {
					t.Errorf("%s, a crash after %d requests: %v", table, dies, err)
				}
			})
		}
		if marked == 0 {
			t.Errorf("%s: got no crash that leaves marked rows; want one", table)
		}
	}
}
