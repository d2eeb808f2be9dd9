package engine

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// tapEntity carries the entity of a single write past the SDK. body is what the SDK gets: the whole entity, until one of the client was
// carried past it.
func (s *step) tapEntity() (tap wire.Tap, body []byte) {
	if s.deletes() {
		return wire.Tap{}, nil
	}
	entity := s.encoded()
	tap.Body = func(*url.URL) ([]byte, string) { return entity, "application/json" }
	if tap.StandIn = s.Table.shared.entities.Load(); !tap.StandIn {
		return tap, entity
	}
	return tap, s.standIn()
}

// standIn is what the SDK gets in place of an entity: the keys, by which it addresses the row. If it were sent, the service would refuse
// it, because no property can have this name.
func (s *step) standIn() []byte {
	row := s.sent()
	keys := edm.Body{PartitionKey: row.PartitionKey, RowKey: row.RowKey}
	b := keys.Append(make([]byte, 0, 64+len(row.PartitionKey)+len(row.RowKey)))
	return append(b[:len(b)-1], `,"-":0}`...)
}

// tapTransaction carries a transaction past the SDK: its request, and its response if every operation was applied. The SDK gets all
// operations until a transaction of the client was carried past it.
func (t *Table) tapTransaction(steps []step) wire.Tap {
	size := 0
	for i := range steps {
		s := &steps[i]
		if strings.ContainsAny(string(s.Match), "\r\n") {
			return wire.Tap{} // of a caller, and not an ETag
		}
		size += s.sent().Length + 3*(len(s.Key.PartitionKey())+len(s.Key.RowKey()))
	}
	return wire.Tap{
		StandIn: t.shared.batches.Load(),
		Body: func(u *url.URL) (body []byte, contentType string) {
			w := wire.NewBatchWriter(u, t.Name, len(steps), size)
			if w == nil {
				return nil, ""
			}
			for i := range steps {
				steps[i].write(w)
			}
			return w.Finish()
		},
		Take: func(status int, body []byte) (small []byte, value any) {
			if status != http.StatusAccepted {
				return nil, nil
			}
			etags, failure, err := wire.ParseBatchResponse(body, len(steps))
			if failure != nil || err != nil {
				return nil, nil
			}
			return []byte(wire.SmallBatchResponse), etags
		},
	}
}

// write writes the step's part of a transaction.
func (s *step) write(w *wire.BatchWriter) {
	method := http.MethodPut
	switch s.Kind {
	case aztables.TransactionTypeAdd:
		w.Insert(s)
		return
	case aztables.TransactionTypeDelete:
		match := s.Match
		if match == "" {
			match = azcore.ETagAny
		}
		w.Delete(s.Key.PartitionKey(), s.Key.RowKey(), string(match))
		return
	case aztables.TransactionTypeInsertMerge, aztables.TransactionTypeUpdateMerge:
		method = http.MethodPatch
	}
	row := s.sent()
	w.Update(method, row.PartitionKey, row.RowKey, string(s.Match), s)
}

// standInForAll is what the SDK gets in place of a transaction. If it were sent, it would change nothing: no row has this ETag.
func standInForAll() []aztables.TransactionAction {
	never := azcore.ETag(`W/"none"`)
	return []aztables.TransactionAction{{ActionType: aztables.TransactionTypeDelete, Entity: []byte(`{"PartitionKey":"-","RowKey":"-"}`), IfMatch: &never}}
}
