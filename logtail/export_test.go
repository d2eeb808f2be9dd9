package logtail

import "context"

// Ensure makes the tables of a log, also of one without a store.
func (l *Log[T]) Ensure(ctx context.Context) error {
	if l.c.err != nil {
		return l.c.err
	}
	return l.c.tables.ensure(ctx)
}

// Err returns the mistake in the declaration of the log, or in the name of its source.
func (l *Log[T]) Err() error { return l.c.err }
