package engine

import (
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Versions is a feature: entities count how often they were written. One that was written more
// often is worn out, and not there. A row of their partition is stored with each transaction.
type Versions struct {
	plainFeature
	Most int64
}

func (Versions) property() (string, bool) { return "Versions", true }

func (Versions) store(_ *step, _ *Plan, _ *Change, had edm.Value, _ bool) (edm.Value, error) {
	return edm.Value{Kind: edm.Int64, I: had.I + 1}, nil
}

func (f Versions) read(_ *Table, r received) (received, finding, error) {
	n, err := r.Property("Versions")
	if err == nil && n.I > f.Most {
		return r, absent, nil
	}
	return r, given, err
}

func (Versions) adds(t *Table, partition string) (step, error) {
	s, err := libraryStep(t, aztables.TransactionTypeInsertReplace, keys.Raw(partition, "~versions"), "", nil)
	s.shared = errors.New("others store the row of versions at the same time")
	return s, err
}
