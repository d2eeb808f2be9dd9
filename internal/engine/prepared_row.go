package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// preparation is what a write over several partitions has prepared in one of them. It is a row: the first of the transaction that
// prepares, so that a late duplicate of that transaction fails there. So the row stays for the retention when the write is over.
type preparation struct {
	key  keys.Key
	home Remote
	over bool // the write is finished here, or rolled back
	rows []preparedRow
	etag azcore.ETag
}

// preparedRow is a row that is prepared.
type preparedRow struct {
	RowKey string `json:"row"`
	Fate   fate   `json:"fate"`
	Image  int    `json:"image,omitempty"`
}

// The properties of a preparation, besides its version.
const (
	homeProperty       = "Home" // table/partition
	preparedProperty   = "Rows" // as JSON, the rest in Rows1, Rows2, …
	preparationVersion = 1
	preparationOver    = "over"
	preparationPending = "pending"
)

// preparationKey returns the key of what a write has prepared in a partition.
func preparationKey(partition, id string) keys.Key {
	return keys.Stored(partition, reserved.Prepared+id)
}

// imageKey returns the key of the row that contains the new content of a prepared row.
func imageKey(partition, id string, n int) keys.Key {
	return keys.Stored(partition, fmt.Sprintf("%s%s|%02d", reserved.Prepared, id, n))
}

// body is the row of the preparation.
func (p *preparation) body() (edm.Body, error) {
	w := edm.NewWriter(p.key.PartitionKey(), p.key.RowKey(), 4)
	w.Put(reserved.Version, edm.Value{Kind: edm.Int32, I: preparationVersion})
	state := preparationPending
	if p.over {
		state = preparationOver
	}
	w.Put(stateProperty, edm.Value{Kind: edm.String, S: state})
	w.Put(homeProperty, edm.Value{Kind: edm.String, S: p.home.Table + "/" + p.home.Partition})
	if !p.over { // then the rows mean nothing
		b, err := json.Marshal(p.rows)
		if err != nil {
			return edm.Body{}, err
		}
		for i, part := range parts(string(b), maxEffectsPart) {
			w.Put(partName(preparedProperty, i), edm.Value{Kind: edm.String, S: part})
		}
	}
	return w.Finish()
}

// preparationOf reads a preparation from its row.
func preparationOf(r *Row) (*preparation, error) {
	p := &preparation{key: r.Key, etag: r.ETag}
	if err := checkVersion(r, "preparation", preparationVersion); err != nil {
		return nil, err
	}
	p.over = Find(r.Columns, stateProperty).S == preparationOver
	p.home.Table, p.home.Partition, _ = strings.Cut(Find(r.Columns, homeProperty).S, "/")
	if err := checkRemote(p.home); err != nil {
		return nil, &DecodeError{Field: homeProperty, Reason: "names no table and partition"}
	}
	text, err := longText(r, preparedProperty)
	if err != nil {
		return nil, err
	}
	if text != "" && json.Unmarshal([]byte(text), &p.rows) != nil {
		return nil, &DecodeError{Field: preparedProperty, Reason: "is not the JSON of prepared rows"}
	}
	if len(p.rows) >= maxOperations {
		return nil, &DecodeError{Field: preparedProperty, Reason: "contains more rows than a transaction"}
	}
	return p, nil
}

// end is the step that ends the preparation.
func (p *preparation) end(t *Table) (step, error) {
	over := *p
	over.over, over.rows = true, nil
	s := step{Op: &Op{Table: t, Kind: aztables.TransactionTypeUpdateReplace, Key: p.key, Match: p.etag}, opIndex: -1}
	var err error
	s.Body, err = over.body()
	return s, err
}

// libraryStep is a step on a row of the library, or on a row as a resolver leaves it.
func libraryStep(t *Table, kind aztables.TransactionType, k keys.Key, match azcore.ETag, columns []edm.Column) (step, error) {
	s := step{Op: &Op{Table: t, Kind: kind, Key: k, Match: match}, opIndex: -1}
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), len(columns))
	for _, c := range columns {
		w.PutColumn(c)
	}
	var err error
	s.Body, err = w.Finish()
	return s, err
}
