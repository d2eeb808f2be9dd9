package archive_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// stale is a program that read an entity, and its row, before the entity was archived and restored.
type stale struct {
	h       *house
	s       *storagetest.Service
	e       *table.Entity[clerk]
	rows    *table.Table[table.Row]
	row     *table.Entity[table.Row]
	life    string // its incarnation
	outside bool   // the write does not go through the library's unconditional writes
}

// staleWrites are all ways to write such an entity without a look at the row.
var staleWrites = map[string]func(context.Context, *stale) error{
	"ReplaceAny":           func(ctx context.Context, p *stale) error { return p.h.current.ReplaceAny(ctx, p.e) },
	"ReplaceAny, exact":    func(ctx context.Context, p *stale) error { return p.h.current.Exact().ReplaceAny(ctx, p.e) },
	"ReplaceAny, of a Row": func(ctx context.Context, p *stale) error { return p.rows.ReplaceAny(ctx, p.row) },
	"ReplaceAny, Transact": func(ctx context.Context, p *stale) error {
		_, err := table.Transact(ctx, p.h.current.ReplaceAnyOp(p.e))
		return err
	},
	"ReplaceAny, Bulk":      func(ctx context.Context, p *stale) error { return bulk(ctx, p.h.current.ReplaceAnyOp(p.e)) },
	"ReplaceAny, of Entity": func(ctx context.Context, p *stale) error { return replaceMade(ctx, p) },
	"ReplaceAny, maintained": func(ctx context.Context, p *stale) error {
		with, err := p.h.current.With(nil, many{1})
		check(err)
		return with.ReplaceAny(ctx, p.e)
	},
	"Upsert": func(ctx context.Context, p *stale) error {
		return upsert(ctx, p.h.current, p.e.Value, table.ReplaceExisting)
	},
	"Upsert, merging": func(ctx context.Context, p *stale) error {
		return upsert(ctx, p.h.current, p.e.Value, table.MergeExisting)
	},
	"Upsert, of a Row": func(ctx context.Context, p *stale) error {
		return upsert(ctx, p.rows, p.row.Value, table.ReplaceExisting)
	},
	"Upsert, Row merge": func(ctx context.Context, p *stale) error {
		return upsert(ctx, p.rows, p.row.Value, table.MergeExisting)
	},
	"InsertAt, where it was deleted": func(ctx context.Context, p *stale) error {
		check(p.h.current.DeleteAny(ctx, at(1)))
		_, err := p.rows.InsertAt(ctx, at(1), &p.row.Value)
		return err
	},
	"InsertRow, where it was deleted": func(ctx context.Context, p *stale) error {
		check(p.h.current.DeleteAny(ctx, at(1)))
		_, err := p.h.current.InsertRow(ctx, at(1), &p.row.Value)
		return err
	},
	"the bare SDK, all new": func(ctx context.Context, p *stale) error {
		return p.bare(ctx, `{"PartitionKey":"S","RowKey":"c_000001","Last":"Newest"}`)
	},
	"the bare SDK, as read": func(ctx context.Context, p *stale) error {
		p.outside = true
		return p.bare(ctx, fmt.Sprintf(`{"PartitionKey":"S","RowKey":"c_000001","Last":"Newest","_life":%q}`, p.life))
	},
	"the fresh ETag": func(ctx context.Context, p *stale) error {
		now, err := p.h.current.Get(ctx, at(1))
		check(err)
		p.e.ETag, p.outside = now.ETag, true
		return p.h.current.Replace(ctx, p.e)
	},
}

func (p *stale) bare(ctx context.Context, body string) error {
	_, err := p.h.acc.Tables().NewClient("current").UpsertEntity(ctx, []byte(body), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	return err
}

func upsert[T any](ctx context.Context, t *table.Table[T], v T, mode table.UpsertMode) error {
	_, err := t.Upsert(ctx, &v, mode)
	return err
}

func bulk(ctx context.Context, op table.Op) error {
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) { yield(op, nil) }, nil)
	return err
}

// replaceMade replaces by an entity that was made of the row as it was read.
func replaceMade(ctx context.Context, p *stale) error {
	row, err := p.e.Row()
	check(err)
	check(row.Set("Last", "Newest"))
	e, err := p.h.current.Entity(row)
	check(err)
	return p.h.current.ReplaceAny(ctx, e)
}

// TestStaleWriter: an entity is archived and restored, and a program that read it before writes it without a look at the row. Whatever
// it writes with, and whether its entity is archived before or after the old incarnation is forgotten: the newest content is found, and
// rows of other types stay as they were.
func TestStaleWriter(t *testing.T) {
	t.Parallel()
	for name, write := range staleWrites {
		for _, first := range []bool{false, true} {
			for _, blind := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, forget first %v, blind %v", name, first, blind), func(t *testing.T) {
					t.Parallel()
					staleWriter(t, write, first, blind)
				})
			}
		}
	}
}

func staleWriter(t *testing.T, write func(context.Context, *stale) error, forgetFirst, blind bool) {
	ctx := context.Background()
	h, s := opened(t, nil)
	bystanders(h)
	check(h.mover.Archive(ctx, hire(h, s, 1)))
	p := &stale{h: h, s: s, life: lifeOf(s)}
	o := &table.Options{Common: h.opt, BlindWrites: blind}
	var err error
	h.current, err = table.New(h.acc.Tables(), "current", schema, o)
	check(err)
	p.e, err = h.current.Get(ctx, at(1))
	check(err)
	p.rows, err = table.New(h.acc.Tables(), "current", table.Schema[table.Row]{}, o)
	check(err)
	p.row, err = p.rows.Get(ctx, at(1))
	check(err)
	check(h.work(ctx))
	_, err = h.mover.Restore(ctx, at(1))
	check(err)
	restored := lifeOf(s)
	n, hidden := int32(32), int32(3600) // the message that says what is to be forgotten
	_, err = h.acc.Queue("moves").DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: &n, VisibilityTimeout: &hidden})
	check(err)

	p.e.Value.Last = "Newest"
	check(p.row.Value.Set("Last", "Newest"))
	if forgetFirst {
		s.Advance(2 * time.Hour)
		check(h.work(ctx))
	}
	if err := write(ctx, p); err != nil {
		t.Fatal(err)
	}
	if is := lifeOf(s); is != "" && is != restored && !p.outside {
		t.Errorf("the row carries the incarnation %s; want %s or none", is, restored)
	}
	now, err := h.current.Get(ctx, at(1))
	check(err)
	check(h.mover.Archive(ctx, now))
	check(h.work(ctx)) // the move
	s.Advance(2 * time.Hour)
	check(h.work(ctx)) // the old incarnation is forgotten
	if e, _, err := h.mover.Find(ctx, at(1)); err != nil || e.Value.Last != "Newest" {
		t.Fatalf("got %v, %v; want the newest content\ncurrent: %v\nold: %v", e, err, keysOf(s, "current"), keysOf(s, "old"))
	}
	if err := untouched(s); err != nil {
		t.Error(err)
	}
}

// lifeOf is the incarnation that the clerk's row carries.
func lifeOf(s *storagetest.Service) string {
	for _, r := range s.Rows("current") {
		if r.RowKey == "c_000001" {
			life, _ := r.Get("_life").(string)
			return life
		}
	}
	return ""
}
