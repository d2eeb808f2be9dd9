package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Handler returns the handler of the effects of a kind: it reconciles the rows that an effect
// names, of these definitions. An effect of another definition waits for a worker that has it.
// Requests of an effect: 1, and the requests of the targets.
func Handler(kind string, source table.Handle, definitions ...Definition) host.Handler {
	h := &handler{kind, source, definitions}
	return host.Handler{Kind: kind, Table: source, Version: payloadVersion, Handle: h.handle, Sweep: h.sweep}
}

type handler struct {
	kind        string
	source      table.Handle
	definitions []Definition
}

// handle executes an effect.
func (h *handler) handle(ctx context.Context, j eventual.Job) error {
	entity := j.Key
	rows, err := h.rowsIn(entity, j.Payload)
	if err != nil {
		return eventual.Poison(err)
	}
	targets, unknown, err := h.targets(entity, rows)
	if err != nil {
		return eventual.Poison(err)
	}
	if err := Reconcile(ctx, h.source, entity, targets...); err != nil {
		return h.failed(err)
	}
	return unknown
}

// failed returns an error of Reconcile as the worker takes it: the row of no later attempt can be
// stored either.
func (h *handler) failed(err error) error {
	err = fmt.Errorf("%s: %w", h.kind, err)
	if isPermanent(err) {
		return eventual.Poison(err)
	}
	return err
}

// isPermanent reports whether no later attempt can store the row either.
func isPermanent(err error) bool {
	var le *table.LimitError
	var ve *table.ValueError
	var ke *keys.KeyError
	return errors.As(err, &le) || errors.As(err, &ve) || errors.As(err, &ke) || errors.Is(err, table.ErrForeignRow)
}

// rowsIn returns the rows that the effect of an entity names. The effect is not trusted.
func (h *handler) rowsIn(entity keys.Key, payload []byte) (Rows, error) {
	rows, err := decode(payload)
	if err == nil {
		err = entity.Err()
	}
	if err == nil && strings.HasPrefix(entity.RowKey(), reserved.First) {
		err = &table.ValueError{Field: "Effect.RowKey", Reason: "begins with ~; such rows belong to the library"}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", h.kind, err)
	}
	return rows, err
}

// targets returns the targets under some keys of an entity. unknown is the error if there are
// definitions that the handler lacks.
func (h *handler) targets(entity keys.Key, rows Rows) (all []Target, unknown, err error) {
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		i := slices.IndexFunc(h.definitions, func(d Definition) bool { return d.Name() == name })
		if i < 0 {
			// The worker defers the message, as if the row were of a newer version.
			unknown = &table.VersionError{Type: fmt.Sprintf("%s, of definition %s", h.kind, name), Got: 1}
			continue
		}
		for _, k := range rows[name] {
			t, err := h.definitions[i].Target(entity, k)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: definition %s: %w", h.kind, name, err)
			}
			all = append(all, t)
		}
	}
	return all, unknown, nil
}

// sweep deletes the tombstones from before a time that the done commit records of a partition name.
// It is called before these records are deleted. 1 request for each 1,000 records, 1 for each row
// that they name, and 1 for each tombstone.
func (h *handler) sweep(ctx context.Context, partition keys.PartitionKey, before time.Time) (err error) {
	ctx, end := door.Table(h.source).Span(ctx, "Sweep")
	defer func() { end(err) }()
	for record, err := range records.Of(h.source).List(ctx, partition, before) {
		var newer *table.VersionError
		var de *table.DecodeError
		switch {
		case errors.As(err, &newer), errors.As(err, &de):
			continue // the record stays, too
		case err != nil:
			return err
		case record.State != commit.Done:
			continue
		}
		for _, e := range record.Effects {
			if e.Kind != h.kind || e.Version > payloadVersion || !isOf(e, h.source) {
				continue
			}
			entity := host.EntityOf(e, partition)
			rows, err := h.rowsIn(entity, e.Payload)
			if err != nil {
				continue // it names no row of these definitions
			}
			targets, _, err := h.targets(entity, rows)
			if err != nil {
				continue
			}
			if err := each(ctx, targets, func(t Target, ctx context.Context) error { return sweepTarget(ctx, t, before) }); err != nil {
				return h.failed(err)
			}
		}
	}
	return nil
}

// isOf reports whether an effect follows from an entity of a table. The entity of a
// table.Table.Move may be in another table than the commit record.
func isOf(e commit.Effect, t table.Handle) bool {
	return e.Table == "" || strings.EqualFold(e.Table, t.Name())
}

// sweepTarget deletes a target that is an old tombstone. If a concurrent writer changes it, it is
// no old tombstone any more.
func sweepTarget(ctx context.Context, t Target, before time.Time) error {
	err := t.Read(ctx)
	if err == nil {
		err = t.Sweep(ctx, before)
	}
	if isConflict(err) || errors.Is(err, errs.ErrTableNotFound) {
		return nil
	}
	return err
}

// Rows are the rows elsewhere that a write of an entity may change, by the name of their
// definition.
type Rows map[string][]keys.Key

// payloadVersion is the version of the form in which an effect contains Rows.
const payloadVersion = 1

// payload is that form.
type payload struct {
	Rows map[string][][2]string `json:"rows"` // PartitionKey and RowKey
}

// AddEffect adds to p an effect for rows of a definition: the rows that the entity had, and the
// rows that it should have. All definitions of a kind have one effect for each entity.
func AddEffect(p *extend.Plan, kind, definition string, rows ...keys.Key) {
	door.PlanOf(p).JoinEffect(kind, payloadVersion, func(b []byte) []byte {
		all, _ := decode(b) // what encode has made
		if all == nil {
			all = Rows{}
		}
		all[definition] = append(all[definition], rows...)
		return all.encode()
	})
}

func (r Rows) encode() []byte {
	var p payload
	p.Rows = map[string][][2]string{}
	for name, all := range r {
		for _, k := range all {
			if is := [2]string{k.PartitionKey(), k.RowKey()}; !slices.Contains(p.Rows[name], is) {
				p.Rows[name] = append(p.Rows[name], is)
			}
		}
	}
	b, _ := json.Marshal(p) // all fields can be encoded
	return b
}

var errPayload = errors.New("the payload does not name rows of definitions")

// decode returns the rows in a payload, which is not trusted.
func decode(b []byte) (Rows, error) {
	var p payload
	if json.Unmarshal(b, &p) != nil || len(p.Rows) == 0 {
		return nil, errPayload
	}
	all := Rows{}
	for name, rows := range p.Rows {
		for _, k := range rows {
			at := keys.Raw(k[0], k[1])
			if at.Err() != nil {
				return nil, errPayload
			}
			all[name] = append(all[name], at)
		}
	}
	return all, nil
}

// Row is a [Target] that is one derived row. It takes 2 requests.
type Row struct {
	Table table.Handle // any handle of the table where the row is
	Key   keys.Key

	// Follow returns what the row should be, never nil and under Key, for what is stored and for
	// the entity, each nil if there is none. An error ends the execution.
	Follow func(stored, entity *table.Row) (*table.Row, error)

	// IsTombstone reports whether a stored row can be deleted once it is old.
	IsTombstone func(stored *table.Row) bool

	stored *table.Row
}

var _ Target = (*Row)(nil)

// Read reads the row. 1 request.
func (r *Row) Read(ctx context.Context) (err error) {
	r.stored, err = tabledoor.FindRow(ctx, door.Rows[table.Table[table.Row]](door.Table(r.Table), false), r.Key)
	return err
}

// Write stores what Follow returns. 1 request.
func (r *Row) Write(ctx context.Context, entity *table.Row) error {
	want, err := r.Follow(r.stored, entity)
	if err != nil {
		return fmt.Errorf("%v in table %s: %w", r.Key, r.Table.Name(), err)
	}
	row, etag := *(*stored.Row)(want), azcore.ETag("")
	row.Key = r.Key
	if r.stored != nil {
		etag = r.stored.ETag
	}
	return door.Table(r.Table).WriteRow(ctx, "Reconcile", &row, etag)
}

// Sweep deletes an old tombstone. 1 request.
func (r *Row) Sweep(ctx context.Context, before time.Time) error {
	if r.stored == nil || !r.stored.Timestamp.Before(before) || !r.IsTombstone(r.stored) {
		return nil
	}
	rows := door.Rows[table.Table[table.Row]](door.Table(r.Table), false)
	e, err := rows.Entity(r.stored)
	if err != nil {
		return err
	}
	return rows.Delete(ctx, e)
}

// gone is the projection ID of tombstones. That of a copy has other characters.
const gone = "~"

// Tombstone returns the row that says that there is no row of an entity under a key.
func Tombstone(entity, at keys.Key) *table.Row {
	return (*table.Row)((*stored.Row)((&table.Row{Key: entity})).Copy(at, gone))
}

// IsTombstone reports whether a row is a Tombstone.
func IsTombstone(row *table.Row) bool {
	_, isCopy := (*stored.Row)(row).Primary()
	return isCopy && (*stored.Row)(row).ProjectionID() == gone
}
