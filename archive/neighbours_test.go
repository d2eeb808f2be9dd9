package archive_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/storagetest"
)

// neighbours are RowKeys of rows of other types, which resemble the RowKeys of clerks, of their stored rows, and of the library's
// rows. Both tables contain them from the start, and nothing changes them.
var neighbours = []string{"a", "c_", "c_000001x", "c_00000", "c_000001~", "c_000001~0123456789ABCDEF~0123456789ABCDEF", "d_000001", "\uE000", "zz"}

func insertNeighbours(ctx context.Context, fx *fixture) error {
	for _, name := range []string{"current", "old"} {
		var actions []aztables.TransactionAction
		for _, rk := range neighbours {
			body, err := json.Marshal(map[string]any{"PartitionKey": "S", "RowKey": rk, "Mine": name + rk, "_life": "0123456789ABCDEF"})
			if err != nil {
				return err
			}
			actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertMerge, Entity: body})
		}
		if _, err := fx.account.Tables().NewClient(name).SubmitTransaction(ctx, actions, nil); err != nil {
			return err
		}
	}
	return nil
}

// checkNeighbours returns an error if a neighbour has changed, or if a table contains a row that the library does not write for
// clerks.
func checkNeighbours(s *storagetest.Service) error {
	for _, name := range []string{"current", "old"} {
		missing := map[string]bool{}
		for _, rk := range neighbours {
			missing[rk] = true
		}
		for _, r := range s.Rows(name) {
			switch {
			case missing[r.RowKey]:
				delete(missing, r.RowKey)
				if r.Get("Mine") != name+r.RowKey || r.Get("_life") != "0123456789ABCDEF" || r.Get("_op") != nil || r.Get("_sys") != nil || r.Get("Last") != nil {
					return fmt.Errorf("table %s: a row of another type was changed: %v", name, r)
				}
			case name == "current" && !currentRow.MatchString(r.RowKey), name == "old" && !oldRow.MatchString(r.RowKey), r.PartitionKey != "S" && r.PartitionKey != "T":
				return fmt.Errorf("table %s: got an unexpected row (%s, %s)", name, r.PartitionKey, r.RowKey)
			}
		}
		if len(missing) > 0 && len(missing) < len(neighbours) {
			return fmt.Errorf("table %s: rows of other types are missing: %v", name, missing)
		}
	}
	return nil
}

// The rows that the library writes for clerks: entities, commit records, restore records, planned sweeps and prepared moves; stored rows and
// tombstone records.
var (
	currentRow = regexp.MustCompile(`^(c_[0-9]{6}|~i\|[0-9A-Z]{26}|~l\|[0-9A-Z]{16}|~g\|[0-9]{10}|~t\|[0-9A-Z]{26})$`)
	oldRow     = regexp.MustCompile(`^(c_[0-9]{6}~[0-9A-Z]{16}|~d\|[0-9A-Z]{16})$`)
)
