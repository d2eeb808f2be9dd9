package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// newWorker returns the worker of the company. Each process of the service runs one. The worker appends changes to the log, finishes or
// rolls back the writes of crashed programs, such as moves, also in the table emails, and deletes commit records a day later. A table
// with other rows elsewhere needs index.Handler, too, and a table without any handler eventual.Transactions.
func newWorker(c *company, acc *account.Account, common table.Common) (*eventual.Worker, error) {
	handlers := []eventual.Handler{
		eventual.NewHandler(changeKind, c.staff, func(ctx context.Context, j eventual.Job, change Change) error {
			return appendChange(ctx, c.changes, j, change)
		}),
	}
	return eventual.NewWorker(acc.Queue(notifications), acc.Queue("staff-poison"), handlers, &eventual.WorkerOptions{
		Common:  common,
		CleanUp: acc.Queue("staff-cleanup"),
	})
}

// daily runs the jobs of a day. It can run while the service runs, and more than once.
func daily(ctx context.Context, c *company, logger *slog.Logger) error {
	return errors.Join(sweepPhotos(ctx, c, logger), notifyPending(ctx, c, logger))
}

// sweepPhotos deletes the photos that no employee has, of crashed uploads and refused moves, a day after their upload.
func sweepPhotos(ctx context.Context, c *company, logger *slog.Logger) error {
	report, err := largeentity.Sweep(ctx, c.staff, c.photos, &largeentity.SweepOptions{Rate: 500})
	logger.Info("photos swept", "report", report, "error", err)
	return err
}

// notifyPending notifies the workers of effects whose notification was lost, for example with a deleted queue.
func notifyPending(ctx context.Context, c *company, logger *slog.Logger) error {
	var o eventual.NotifyOptions
	for {
		result, err := c.outbox.NotifyPending(ctx, c.staff, &o)
		logger.Info("pending writes notified", "sent", result.Sent, "error", err)
		if o.Token = result.Token; err != nil || o.Token == "" {
			return err
		}
	}
}
