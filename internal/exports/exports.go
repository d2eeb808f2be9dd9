// Package exports is what package jobs tells transfer.Export besides its options.
package exports

import (
	"context"
	"time"
)

type notBefore struct{}

// NotBefore returns a context in which an export goes on with none that began before a time.
func NotBefore(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, notBefore{}, at)
}

// Oldest returns the time of NotBefore, the zero time if there is none.
func Oldest(ctx context.Context) time.Time {
	at, _ := ctx.Value(notBefore{}).(time.Time)
	return at
}
