package table

import (
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// GetMany reads entities by their keys, 10 at a time and up to 40 ahead of the loop, and yields them in the order of the keys. For
// a row that does not exist it yields (nil, ErrNotFound), for a row of another type (nil, ErrOtherType) or a *keys.KeyError, and
// goes on; any other error ends the list. Leaving the loop cancels the requests under way. 1 request for each key.
//
// Errors: ErrNotFound; ErrOtherType; ErrTableNotFound; *DecodeError; *keys.KeyError for any key before the first request, and for
// rows whose keys do not agree with their fields.
func (t *Table[T]) GetMany(ctx context.Context, ks ...keys.Key) iter.Seq2[*Entity[T], error] {
	return func(yield func(*Entity[T], error) bool) {
		t.h.getMany(ctx, ks, func(e entity, err error) bool { return yield(typed[T](e, err)) })
	}
}

func (h handle) getMany(ctx context.Context, ks []keys.Key, yield func(entity, error) bool) {
	ctx, end := h.engine.Span(ctx, "GetMany")
	var err error
	defer func() { end(err) }()
	for _, k := range ks {
		if err = engine.AddressErr(k); err != nil {
			err = h.opError("GetMany", k, err)
			yield(nil, err)
			return
		}
	}
	engine.InOrder(ctx, ks, func(ctx context.Context, k keys.Key) (entity, error) {
		return h.get(ctx, "GetMany", k)
	}, func(e entity, gerr error) bool {
		if gerr != nil && !errors.Is(gerr, ErrNotFound) && !notMine(gerr) {
			err = gerr
			yield(nil, err)
			return false
		}
		return yield(e, gerr)
	})
}

// notMine reports that a row belongs to another type.
func notMine(err error) bool {
	var ke *keys.KeyError
	return errors.Is(err, ErrOtherType) || errors.As(err, &ke)
}
