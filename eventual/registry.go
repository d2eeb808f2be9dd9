package eventual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// registry contains the handlers of a worker by table. The case of table names is ignored.
type registry map[string]*tableHandlers

// tableHandlers are the handlers of one table by the kind of their effects.
type tableHandlers struct {
	table   commit.Table
	records *commit.Records
	byKind  map[string]Handler
	remotes []string // the names of other tables, in lower case
}

func newRegistry(handlers []Handler) (registry, error) {
	all := registry{}
	for i, h := range handlers {
		fail := func(reason string) (registry, error) {
			return nil, &table.ValueError{Field: fmt.Sprintf("handlers[%d]", i), Reason: reason}
		}
		switch {
		case h.Kind == "":
			return fail("has no Kind; set the kind of its effects")
		case h.Handle == nil:
			return fail("has no Handle; set the function that executes an effect")
		case wire.IsNil(h.Table):
			return fail("has no Table; set the table whose writes have the effects")
		}
		t := all.of(h.Table.Name())
		if t == nil {
			t = &tableHandlers{table: h.Table, records: commit.Of(h.Table), byKind: map[string]Handler{}}
			all[strings.ToLower(h.Table.Name())] = t
		}
		if !t.table.Engine().Same(h.Table.Engine()) {
			return fail(fmt.Sprintf("has another client for table %q than an earlier handler; use one client for all handlers of a table", h.Table.Name()))
		}
		if _, exists := t.byKind[h.Kind]; exists {
			return fail(fmt.Sprintf("is the second handler of kind %q for table %q; a table has one handler for each kind", h.Kind, h.Table.Name()))
		}
		def(&h.Version, 1)
		t.byKind[h.Kind] = h
		for _, m := range h.Table.Engine().Mode.Maintainers {
			if w, is := m.Typed().(maintain.RemoteWriter); is {
				h.Remotes = append(slices.Clip(h.Remotes), w.RemoteTables()...)
			}
		}
		for _, name := range h.Remotes {
			t.remotes = append(t.remotes, strings.ToLower(name))
		}
	}
	return all, nil
}

// handler returns the handler of a kind, if there is one.
func (t *tableHandlers) handler(kind string) (h Handler, known bool) {
	if t == nil {
		return Handler{}, false
	}
	if h, known = t.byKind[kind]; !known && kind == engine.RemoteEffect {
		return Transactions(t.table), true
	}
	return h, known
}

// of returns the handlers of a table, nil if there are none.
func (r registry) of(tableName string) *tableHandlers { return r[strings.ToLower(tableName)] }

// partitionName returns a name for the partition of a message, "" for a message that does not count to a partition.
func (r registry) partitionName(m *receivedMessage) string {
	if m.err != nil || m.message.Hour != "" || r.of(m.message.Table) == nil {
		return ""
	}
	return m.message.partitionName()
}
