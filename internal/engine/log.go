package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Log logs what an operation does besides its requests: repeated attempts, conflicts and repairs. The zero Log logs nothing. It
// logs keys, codes and texts of errors, but neither properties nor signatures.
type Log struct {
	Logger        *slog.Logger
	Table, Method string
	Key           keys.Key // zero for an operation on several rows
	Partition     string   // if the key is zero
	Conflicts     bool     // each attempt that is over was a conflict
}

// Conflict logs that an attempt met a concurrent writer, and that another attempt follows. attempt and wait are 0 if they are not
// known.
func (l Log) Conflict(ctx context.Context, attempt int, wait time.Duration, err error) {
	l.attempt(ctx, slog.LevelDebug, "conflict with a concurrent writer; another attempt follows", attempt, wait, err)
}

// repeats logs that an attempt has failed, and that another attempt follows.
func (l Log) repeats(ctx context.Context, attempt int, wait time.Duration, err error) {
	if l.Conflicts {
		l.Conflict(ctx, attempt, wait, err)
		return
	}
	l.attempt(ctx, slog.LevelDebug, "request failed; another attempt follows", attempt, wait, err)
}

// throttled logs that the service is busy, and that another attempt follows.
func (l Log) throttled(ctx context.Context, attempt int, wait time.Duration, err error) {
	l.attempt(ctx, slog.LevelWarn, "throttled by the service; another attempt follows", attempt, wait, err)
}

// givesUp logs that no further attempt follows. A caller that has canceled the context knows that.
func (l Log) givesUp(ctx context.Context, attempt int, err error) {
	if !errors.Is(ctx.Err(), context.Canceled) {
		l.attempt(ctx, slog.LevelWarn, "gave up", attempt, 0, err)
	}
}

// Repaired logs that derived rows were not as they should be, and were repaired.
func (l Log) Repaired(ctx context.Context, rows int) {
	if l.enabled(ctx, slog.LevelWarn) {
		l.log(ctx, slog.LevelWarn, "repaired derived rows", slog.Int("rows", rows))
	}
}

func (l Log) enabled(ctx context.Context, level slog.Level) bool {
	return l.Logger != nil && l.Logger.Enabled(ctx, level)
}

func (l Log) attempt(ctx context.Context, level slog.Level, text string, attempt int, wait time.Duration, err error) {
	if !l.enabled(ctx, level) {
		return
	}
	var attrs []slog.Attr
	if attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", attempt))
	}
	if wait > 0 {
		attrs = append(attrs, slog.Duration("wait", wait))
	}
	var re *azcore.ResponseError
	if errors.As(err, &re) && re.ErrorCode != "" {
		attrs = append(attrs, slog.String("code", re.ErrorCode))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", Brief(wire.Redact(cause(err)))))
	}
	l.log(ctx, level, text, attrs...)
}

func (l Log) log(ctx context.Context, level slog.Level, text string, attrs ...slog.Attr) {
	all := []slog.Attr{slog.String("table", l.Table), slog.String("operation", l.Method)}
	switch {
	case l.Key != keys.Key{}:
		all = append(all, slog.Any("key", l.Key))
	case l.Partition != "":
		all = append(all, slog.String("partition", l.Partition))
	}
	l.Logger.LogAttrs(ctx, level, text, append(all, attrs...)...)
}
