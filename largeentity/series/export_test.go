package series

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
)

// Ensure makes the table of a series, also of one without a store.
func (s *Series[V]) Ensure(ctx context.Context) error { return tabledoor.Ensure(ctx, s.rows) }

// Err returns the mistake in the declaration of the series.
func (s *Series[V]) Err() error { return s.err }
