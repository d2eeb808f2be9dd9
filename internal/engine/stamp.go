package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// A partition of a table with stamps has a row that each transaction of entities stores again,
// whatever it is. So nothing was written between two reads of the row if they found it with one
// ETag. It is stored without a condition: writers of a partition do not refuse each other because
// of it.

func stampKey(partition string) keys.Key { return keys.Raw(partition, reserved.Stamp) }

// Stamp returns what changes with each transaction of entities in a partition, "" if nothing says
// so: there was none since the table has stamps, or the client may not see the row. Requests: 1.
func (t *Table) Stamp(ctx context.Context, method, partition string) (string, error) {
	r, err := t.GetReserved(ctx, method, stampKey(partition))
	if err != nil || r.Hidden || r.Row == nil {
		return "", err
	}
	return fmt.Sprintf("%s %v", r.Row.ETag, stored.Find(r.Row.Columns(), reserved.OperationID)), nil
}

// Stamps is the feature of a table with stamps: the name of the definition.
type Stamps struct {
	plainFeature
	Definition string
}

func (s Stamps) definition() string { return s.Definition }

func (Stamps) adds(t *Table, partition string) (step, error) { return stampStep(t, partition) }

// Stamps returns the name of the definition because of which the table has stamps, "" for none.
func (m *Mode) Stamps() string {
	for _, f := range m.Chain {
		if s, is := f.(Stamps); is {
			return s.Definition
		}
	}
	return ""
}

// stampStep stores the stamp of a partition.
func stampStep(t *Table, partition string) (step, error) {
	s, err := libraryStep(t, aztables.TransactionTypeInsertReplace, stampKey(partition), "", nil)
	s.StoresID = true
	s.shared = errStampRefused
	return s, err
}

// isStamp reports whether a step stores a stamp.
func (s step) isStamp() bool { return s.Key.RowKey() == reserved.Stamp }

var errStampRefused = errors.New("other transactions store the stamp of the partition at the same time, again and again")
