package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Handler returns the handler of the effects of a kind: it reconciles the rows that an effect names, of these definitions. An effect
// of another definition waits for a worker that has it. Requests of an effect: 1, and those of the targets.
func Handler(kind string, source commit.Table, definitions ...Definition) eventual.Handler {
	h := &handler{kind, source, definitions}
	return eventual.Handler{Kind: kind, Table: source, Version: payloadVersion, Handle: h.handle, Sweep: h.sweep}
}

type handler struct {
	kind        string
	source      commit.Table
	definitions []Definition
}

// handle executes an effect.
func (h *handler) handle(ctx context.Context, j eventual.Job) error {
	entity, rows, err := h.rowsIn(j.Partition, j.Effect)
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

// failed returns an error of Reconcile as the worker takes it: the row of no later attempt can be stored either.
func (h *handler) failed(err error) error {
	var le *table.LimitError
	var ve *table.ValueError
	var ke *keys.KeyError
	err = fmt.Errorf("%s: %w", h.kind, err)
	if errors.As(err, &le) || errors.As(err, &ve) || errors.As(err, &ke) || errors.Is(err, table.ErrForeignRow) {
		return eventual.Poison(err)
	}
	return err
}

// rowsIn returns the entity of an effect, and the rows that it names. The effect is not trusted.
func (h *handler) rowsIn(partition keys.Enc, e commit.Effect) (entity keys.Key, rows Rows, err error) {
	pk, err := partition.Result()
	if err != nil {
		return entity, nil, err
	}
	entity = keys.Stored(pk, e.RowKey)
	if rows, err = decode(e.Payload); err == nil {
		err = entity.Err()
	}
	if err == nil && strings.HasPrefix(e.RowKey, reserved.First) {
		err = &table.ValueError{Field: "Effect.RowKey", Reason: "begins with ~; such rows belong to the library"}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", h.kind, err)
	}
	return entity, rows, err
}

// targets returns the targets under some keys of an entity. unknown is the error if there are definitions that the handler lacks.
func (h *handler) targets(entity keys.Key, rows Rows) (all []Target, unknown, err error) {
	for _, name := range rows.names() {
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

// sweep deletes the tombstones from before a time that the done commit records of a partition name. It is called before these
// records are deleted. 1 request for each 1,000 records, 1 for each row that they name, and 1 for each tombstone.
func (h *handler) sweep(ctx context.Context, partition keys.Enc, before time.Time) (err error) {
	ctx, end := h.source.Engine().Span(ctx, "Sweep")
	defer func() { end(err) }()
	for record, err := range commit.Of(h.source).List(ctx, partition, before) {
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
			entity, rows, err := h.rowsIn(partitionOf(e, partition), e)
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

// isOf reports whether an effect follows from an entity of a table. The entity of a table.Table.Move may be in another table than the
// commit record.
func isOf(e commit.Effect, t commit.Table) bool {
	return e.Table == "" || strings.EqualFold(e.Table, t.Name())
}

// partitionOf returns the partition of the entity of an effect, for that of the commit record.
func partitionOf(e commit.Effect, record keys.Enc) keys.Enc {
	if e.Table == "" {
		return record
	}
	return keys.Stored(e.Partition, "").Partition()
}

// sweepTarget deletes a target that is an old tombstone. If a concurrent writer changes it, it is no old tombstone any more.
func sweepTarget(ctx context.Context, t Target, before time.Time) error {
	err := t.Read(ctx)
	if err == nil {
		err = t.Sweep(ctx, before)
	}
	if isConflict(err) || errors.Is(err, table.ErrTableNotFound) {
		return nil
	}
	return err
}
