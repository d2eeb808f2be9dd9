package bloblog

import "context"

// Ensure makes the container of a log, also of one without a store.
func (l *Log[T]) Ensure(ctx context.Context) error { return l.core.ensure(ctx) }

// Err returns the mistake in the declaration of the log.
func (l *Log[T]) Err() error { return l.check() }
