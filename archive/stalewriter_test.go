package archive_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// staleWriter is a program that read an entity, and its row, before the entity was archived and restored.
type staleWriter struct {
	clerks           *table.Table[clerk]
	clerk            *table.Entity[clerk]
	rows             *table.Table[table.Row]
	row              *table.Entity[table.Row]
	fixture          *fixture
	incarnation      string // that the program has read
	keepsIncarnation bool   // the write stores that incarnation, which the library's unconditional writes do not
}

// staleWrites are all ways to write such an entity without reading its row again.
var staleWrites = map[string]func(context.Context, *staleWriter) error{
	"ReplaceAny": func(ctx context.Context, w *staleWriter) error { return w.clerks.ReplaceAny(ctx, w.clerk) },
	"ReplaceAny, exact": func(ctx context.Context, w *staleWriter) error {
		return w.clerks.Exact().ReplaceAny(ctx, w.clerk)
	},
	"ReplaceAny, of a Row": func(ctx context.Context, w *staleWriter) error { return w.rows.ReplaceAny(ctx, w.row) },
	"ReplaceAny, Transact": func(ctx context.Context, w *staleWriter) error {
		_, err := table.Transact(ctx, baretest.ReplaceAnyOp(w.clerks, w.clerk))
		return err
	},
	"ReplaceAny, Bulk": func(ctx context.Context, w *staleWriter) error {
		_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) { yield(baretest.ReplaceAnyOp(w.clerks, w.clerk), nil) }, nil)
		return err
	},
	"ReplaceAny, of Entity": replaceDecoded,
	"ReplaceAny, maintained": func(ctx context.Context, w *staleWriter) error {
		maintained, err := bare.With(w.clerks, manyRows{1})
		if err != nil {
			return err
		}
		return maintained.ReplaceAny(ctx, w.clerk)
	},
	"Upsert": func(ctx context.Context, w *staleWriter) error {
		_, err := w.clerks.Upsert(ctx, &w.clerk.Value, table.ReplaceExisting)
		return err
	},
	"Upsert, merging": func(ctx context.Context, w *staleWriter) error {
		_, err := w.clerks.Upsert(ctx, &w.clerk.Value, table.MergeExisting)
		return err
	},
	"Upsert, of a Row": func(ctx context.Context, w *staleWriter) error {
		_, err := w.rows.Upsert(ctx, &w.row.Value, table.ReplaceExisting)
		return err
	},
	"Upsert, of a Row, merging": func(ctx context.Context, w *staleWriter) error {
		_, err := w.rows.Upsert(ctx, &w.row.Value, table.MergeExisting)
		return err
	},
	"InsertAt after a deletion": func(ctx context.Context, w *staleWriter) error {
		if err := w.clerks.DeleteAny(ctx, at(1)); err != nil {
			return err
		}
		_, err := w.rows.InsertAt(ctx, at(1), &w.row.Value)
		return err
	},
	"InsertRow after a deletion": func(ctx context.Context, w *staleWriter) error {
		if err := w.clerks.DeleteAny(ctx, at(1)); err != nil {
			return err
		}
		_, err := door.InsertRow[*table.Entity[clerk]](ctx, w.clerks, at(1), (*stored.Row)(&w.row.Value))
		return err
	},
	"the SDK, a new row": func(ctx context.Context, w *staleWriter) error {
		return w.upsertBySDK(ctx, `{"PartitionKey":"S","RowKey":"c_000001","Last":"Newest"}`)
	},
	"the SDK, the row as read": func(ctx context.Context, w *staleWriter) error {
		w.keepsIncarnation = true
		return w.upsertBySDK(ctx, fmt.Sprintf(`{"PartitionKey":"S","RowKey":"c_000001","Last":"Newest","_life":%q}`, w.incarnation))
	},
	"Replace by the new ETag": func(ctx context.Context, w *staleWriter) error {
		now, err := w.clerks.Get(ctx, at(1))
		if err != nil {
			return err
		}
		w.clerk.ETag, w.keepsIncarnation = now.ETag, true
		return w.clerks.Replace(ctx, w.clerk)
	},
}

func (w *staleWriter) upsertBySDK(ctx context.Context, body string) error {
	_, err := w.fixture.account.Tables().NewClient("current").UpsertEntity(ctx, []byte(body), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	return err
}

// replaceDecoded replaces by an entity that is decoded from the row as the program read it.
func replaceDecoded(ctx context.Context, w *staleWriter) error {
	row, err := w.clerk.Row()
	if err != nil {
		return err
	}
	if err := row.Set("Last", "Newest"); err != nil {
		return err
	}
	e, err := w.clerks.Entity(row)
	if err != nil {
		return err
	}
	return w.clerks.ReplaceAny(ctx, e)
}

// TestStaleWriter: an entity is archived and restored, and then written by a program that read it before. Whatever the program
// writes with, and whether the entity is archived again before or after the old incarnation is deleted from the destination, Find
// returns the newest content, and rows of other types do not change.
func TestStaleWriter(t *testing.T) {
	t.Parallel()
	for name, write := range staleWrites {
		for _, forgetFirst := range []bool{false, true} {
			for _, blind := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, forget first %v, blind %v", name, forgetFirst, blind), func(t *testing.T) {
					t.Parallel()
					testStaleWriter(t, write, forgetFirst, blind)
				})
			}
		}
	}
}

func testStaleWriter(t *testing.T, write func(context.Context, *staleWriter) error, forgetFirst, blind bool) {
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	must(t, insertNeighbours(ctx, fx))
	must(t, fx.mover.Archive(ctx, insertClerk(t, fx, s, 1)))
	w := newStaleWriter(t, fx, s, blind)
	must(t, fx.work(ctx))
	_, err := fx.mover.Restore(ctx, at(1))
	must(t, err)
	restored := storedIncarnation(s)
	n, hidden := int32(32), int32(3600) // hide the message whose effect deletes the old incarnation
	_, err = fx.account.Queues().NewQueueClient("moves").DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: &n, VisibilityTimeout: &hidden})
	must(t, err)
	if forgetFirst {
		s.Advance(2 * time.Hour)
		must(t, fx.work(ctx))
	}
	must(t, write(ctx, w))
	if got := storedIncarnation(s); got != "" && got != restored && !w.keepsIncarnation {
		t.Errorf("got incarnation %s in the row; want %s or none", got, restored)
	}
	now, err := w.clerks.Get(ctx, at(1))
	must(t, err)
	must(t, fx.mover.Archive(ctx, now))
	must(t, testkit.WithoutFailures(fx.work(ctx))) // moves the entity
	s.Advance(2 * time.Hour)
	must(t, fx.work(ctx)) // deletes the old incarnation
	e, _, err := fx.mover.Find(ctx, at(1))
	must(t, err)
	if e.Value.Last != "Newest" {
		t.Errorf("Find: got %s; want Newest\ncurrent: %v\nold: %v", e.Value.Last, rowKeys(s, "current"), rowKeys(s, "old"))
	}
	must(t, checkNeighbours(s))
}

// TestMovedBefore: a program has written an incarnation back that was moved before. The worker looks twice, since a concurrent move
// may explain the first look, and then makes the message poison.
func TestMovedBefore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, _ := newPendingMove(t)
	incarnation := storedIncarnation(s)
	must(t, fx.work(ctx))
	insertBySDK(t, fx, "current", fmt.Sprintf(`{"PartitionKey":"S","RowKey":"c_000001","Last":"Written back","_life":%q}`, incarnation))
	e, err := fx.current.Get(ctx, at(1))
	must(t, err)
	must(t, fx.mover.Archive(ctx, e))
	var log strings.Builder
	opt := fx.options()
	opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s.Count()
	testkit.Failed(t, fx.newWorker(t, opt).Drain(ctx))
	testkit.Expect(t, "requests", s.Count().String(), "8 get, 1 merge, 1 message-delete, 2 message-get, 1 message-put")
	wantClerks(t, s, []string{"c_000001=Written back"}, []string{"c_000001=Name1"})
	testkit.Expect(t, "count of poison messages", len(s.Messages("poison")), 1)
	if want := "moved before; delete that property"; !strings.Contains(log.String(), want) {
		t.Errorf("the worker's log: got %s; want %q", &log, want)
	}
}

// newStaleWriter returns a program that has read clerk 1 and is about to write its last name.
func newStaleWriter(t testing.TB, fx *fixture, s *storagetest.Service, blind bool) *staleWriter {
	t.Helper()
	ctx := context.Background()
	w := &staleWriter{fixture: fx, incarnation: storedIncarnation(s)}
	o := &table.Options{Common: fx.common, BlindWrites: blind}
	var err error
	w.clerks, err = bare.NewTable(fx.account.Tables(), "current", schema, o)
	must(t, err)
	w.clerk, err = w.clerks.Get(ctx, at(1))
	must(t, err)
	w.rows, err = bare.NewTable(fx.account.Tables(), "current", table.Schema[table.Row]{}, o)
	must(t, err)
	w.row, err = w.rows.Get(ctx, at(1))
	must(t, err)
	w.clerk.Value.Last = "Newest"
	must(t, w.row.Value.Set("Last", "Newest"))
	return w
}

// storedIncarnation returns the incarnation that the row of clerk 1 contains.
func storedIncarnation(s *storagetest.Service) string {
	for _, r := range s.Rows("current") {
		if r.RowKey == "c_000001" {
			incarnation, _ := r.Get("_life").(string)
			return incarnation
		}
	}
	return ""
}
