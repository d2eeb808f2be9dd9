package bloblog

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// Log stores records of type T in the append blobs of a container, and reads them by source and time. It is safe for concurrent
// use.
type Log[T any] struct {
	opt    Options[T]
	client client
}

// New returns a log in a container. New sends nothing. Errors: *table.ValueError and *table.LimitError for an option out of range,
// and for a container that is nil.
//
//	events, err := bloblog.New[Event](acc.Container("logs"), nil)
func New[T any](container *container.Client, o *Options[T]) (*Log[T], error) {
	opt := Options[T]{}
	if o != nil {
		opt = *o
	}
	common, err := opt.setDefaults()
	if err = cmp.Or(table.ErrorOf(engine.CheckClient("container", "container", container, container == nil)), err); err != nil {
		return nil, fmt.Errorf("bloblog: New: %w", err)
	}
	return &Log[T]{opt, client{container, common}}, nil
}

// Ensure creates the container unless it exists. Errors: table.ErrUnreachable. 1 request; idempotent.
func (l *Log[T]) Ensure(ctx context.Context) error {
	if err := blobs.Ensure(ctx, l.client.container, &l.client.opt, refusal); err != nil {
		return fmt.Errorf("bloblog: Ensure: %w", err)
	}
	return nil
}

// timeOf returns the time of a record by Options.Time, and a zero time without it.
func (l *Log[T]) timeOf(v *T) (time.Time, error) {
	if l.opt.Time == nil {
		return time.Time{}, nil
	}
	t := l.opt.Time(v)
	if t.IsZero() {
		return t, &table.ValueError{Field: "Options.Time", Reason: "is zero for a record"}
	}
	return t, checkTime("Options.Time", t)
}
