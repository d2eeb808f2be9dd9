package table_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestWideMove: a wide entity moves with its parts, and is whole in one place after a crash before any request.
func TestWideMove(t *testing.T) {
	t.Parallel()
	crashed := 0
	for at := 1; ; at++ {
		s := &testkit.Hooked{Service: storagetest.New(nil)}
		base, err := bare.NewTable(serviceOf(t, s), "pages", pageSchema(), readingOptions())
		noError(t, err)
		pages, err := baretest.WithOutbox(base, &memoryOutbox{})
		noError(t, err)
		noError(t, tabledoor.Ensure(context.Background(), pages))
		want := page{Site: "a", Path: "p", Title: "T", Visits: make([]int32, 365), Article: strings.Repeat("text ", 30_000), Scan: bytes.Repeat([]byte{7}, 100_000), Note: "n"}
		e, err := pages.Insert(context.Background(), &want)
		noError(t, err)
		before := len(s.Rows("pages"))
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		s.BeforeRequest = func(*http.Request) {
			if n++; n == at {
				cancel()
			}
		}
		e.Value.Site = "b"
		moved := pages.Move(ctx, e)
		s.BeforeRequest = nil
		cancel()
		var found []string
		for _, site := range []string{"a", "b"} {
			got, err := pages.Get(context.Background(), pages.Key(page{Site: site, Path: "p"}))
			if errors.Is(err, table.ErrNotFound) {
				continue
			}
			noError(t, err)
			found = append(found, site)
			want.Site = site
			if !reflect.DeepEqual(got.Value, want) {
				t.Errorf("crash before request %d: got another content in %s", at, site)
			}
		}
		after := 0
		for _, r := range s.Rows("pages") {
			if !strings.HasPrefix(r.RowKey, "~") {
				after++
			}
		}
		if len(found) != 1 || after != before {
			t.Errorf("crash before request %d (%v): found in %v, %d rows; want one place and %d", at, moved, found, after, before)
		}
		if n < at {
			testkit.Expect(t, "a move without a crash is in", fmt.Sprint(found, moved), "[b] <nil>")
			break
		}
		crashed++
	}
	if crashed < 3 {
		t.Errorf("got %d crashes; want 3 or more", crashed)
	}
}

// readingOptions are options without pauses, for entities whose rows are read before they are written.
func readingOptions() *table.Options {
	o := noWaitOptions()
	o.BlindWrites = false
	return o
}

// TestMoveLimits: an entity whose transactions have no room is refused before anything is written.
func TestMoveLimits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	base, err := bare.NewTable(serviceOf(t, s), "rows", table.Schema[table.Row]{}, noWaitOptions())
	noError(t, err)
	noError(t, tabledoor.Ensure(ctx, base))
	rows, err := baretest.WithOutbox(base, &memoryOutbox{})
	noError(t, err)
	full := &table.Row{Key: keys.At(keys.RawPartition("a"), keys.RawRow("r"))}
	for i := range 251 { // and _op
		noError(t, full.Set(fmt.Sprintf("P%03d", i), i))
	}
	e, err := rows.Insert(ctx, full)
	noError(t, err)
	s.Count()
	e.Value.Key = keys.At(keys.RawPartition("b"), keys.RawRow("r"))
	err = rows.Move(ctx, e)
	var le *table.LimitError
	if !errors.As(err, &le) || le.Got != 253 {
		t.Errorf("got %v; want a *LimitError of 253 properties", err)
	}
	for _, r := range s.Rows("rows") {
		if r.PartitionKey == "b" {
			t.Errorf("got %+v; want no row in the new partition", r)
		}
	}
	// Bad handles.
	for what, move := range map[string]func() error{
		"without an outbox": func() error {
			e, err := base.Get(ctx, full.Key)
			noError(t, err)
			e.Value.Key = keys.At(keys.RawPartition("b"), keys.RawRow("r"))
			return base.Move(ctx, e)
		},
		"to nil": func() error { return rows.MoveTo(ctx, nil, e) },
		"to another service": func() error {
			other, err := bare.NewTable(serviceOf(t, &testkit.Hooked{Service: storagetest.New(nil)}), "rows", table.Schema[table.Row]{}, nil)
			noError(t, err)
			e, err := rows.Get(ctx, full.Key)
			noError(t, err)
			return rows.MoveTo(ctx, other, e)
		},
	} {
		var ve *table.ValueError
		if err := move(); !errors.As(err, &ve) {
			t.Errorf("%s: got %v; want a *ValueError", what, err)
		}
	}
	if err := rows.Move(ctx, nil); err == nil {
		t.Error("got no error for nil; want one")
	}
}
