package index_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/table"
)

// TestVerifyLogsRepairs: Run logs how many rows it has repaired in each partition, one line for each.
func TestVerifyLogsRepairs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	old, s := newStaff(t)
	insertAll(t, old, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "b", 30, nil}, worker{"T", 1, "Kwok", "c", 30, nil})
	var text strings.Builder
	o := quick()
	o.Logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	plain, err := table.New(serviceOf(t, s.ConnectionString(), s), "staff", schema, o)
	check(t, err)
	staff, err := index.Attach(plain, byEmail)
	check(t, err)
	for _, want := range []string{
		"level=WARN msg=\"repaired derived rows\" table=staff operation=verify.Run partition=S rows=2\n" +
			"level=WARN msg=\"repaired derived rows\" table=staff operation=verify.Run partition=T rows=1\n",
		"", // nothing is left to repair
	} {
		text.Reset()
		_, err := verify.Run(ctx, staff, &verify.Options{Repair: true})
		check(t, err)
		expect(t, "log", text.String(), want)
	}
}
