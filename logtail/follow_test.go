package logtail_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestFollowOrder: while a follower reads the partitions of a spread source one at a time, a writer appends a record to each
// partition. The follower yields them in their order, in two polls or in one.
func TestFollowOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		s := &testkit.Hooked{Service: storagetest.New(nil), Serial: true}
		writer := openLog(t, s.Service, &logtail.Options{Spread: 3})
		follower := openLog(t, s, &logtail.Options{Spread: 3})
		n := 0
		s.BeforeRequest = func(r *http.Request) {
			if r.Method == http.MethodGet && n < 200 {
				for range 3 {
					if _, err := writer.Append(ctx, &claim{1, n}); err != nil {
						t.Errorf("Append: got error %v; want none", err)
					}
					n++
				}
			}
		}
		want := 0
		for r, err := range follower.Follow(ctx, logtail.NewCursor("", time.Now())) {
			noError(t, err)
			if r.Value.Amount != want {
				t.Fatalf("got record %d; want %d", r.Value.Amount, want)
			}
			if want++; want >= 200 && want == n {
				break
			}
		}
	})
}

// TestCatchUp: a follower that is far behind reads all records in small parts, wherever they are, with about 2 requests for each
// 1,000.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	o := &logtail.Options{}
	options.SetNow(&o.Common, func() time.Time { return now })
	claims, s := newLog(t, o)
	n := 0
	fill := func(at time.Time, count int) {
		now = at
		values := make([]*claim, count)
		for i := range values {
			values[i] = &claim{1, n}
			n++
		}
		_, err := claims.AppendAll(ctx, values...)
		noError(t, err)
	}
	start := now
	fill(start.AddDate(-10, 0, 0), 10)   // years before the others
	fill(start.AddDate(0, -1, 0), 1_200) // in an eighth of a millisecond
	for i := range 30 {
		fill(start.Add(time.Duration(i)*time.Minute), 100)
	}
	now = start.Add(2 * time.Hour)
	s.Count()
	want := 0
	for r, err := range claims.Follow(ctx, nil) {
		noError(t, err)
		if r.Value.Amount != want {
			t.Fatalf("got record %d; want %d", r.Value.Amount, want)
		}
		if want++; want == n {
			break
		}
	}
	var requests int
	for _, c := range s.Count() {
		requests += c
	}
	if most := 2*n/1000 + 90; requests > most {
		t.Errorf("requests for %d records: got %d; want %d at most", n, requests, most)
	}
}

// TestTokens: a token of another log or version, and a corrupt one, are refused.
func TestTokens(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	claims, _ := newLog(t, nil)
	for i := range 3 {
		_, err := claims.Append(ctx, &claim{1, i})
		noError(t, err)
	}
	cursor := logtail.NewCursor("", time.Time{})
	for _, err := range claims.Follow(ctx, cursor) {
		noError(t, err)
		break
	}
	token := cursor.Token()
	for name, c := range map[string]struct {
		log   *logtail.Log[claim]
		token string
		want  string
	}{
		"another source": {claims.In(dept.PartitionKey("Sales")), token, "another log"},
		"half":           {claims, token[:len(token)/2], "corrupt"},
		"no token":       {claims, "x!", "corrupt"},
		"another form":   {claims, "eyJ2IjoyfQ", "version"},
	} {
		var te *table.ValueError
		for _, err := range c.log.Follow(ctx, logtail.NewCursor(c.token, time.Time{})) {
			if !errors.As(err, &te) || !strings.Contains(te.Reason, c.want) {
				t.Errorf("%s: got error %v; want a *table.ValueError about %q", name, err, c.want)
			}
			break
		}
		if te == nil {
			t.Errorf("%s: got no error; want a *table.ValueError", name)
		}
	}
	next := 1
	for r, err := range claims.Follow(ctx, logtail.NewCursor(token, time.Time{})) {
		if noError(t, err); r.Value.Amount != next {
			t.Errorf("behind the token: got record %d; want %d", r.Value.Amount, next)
		}
		if next++; next == 3 {
			break
		}
	}
}

// TestOptions: options out of range are refused, and name the field.
func TestOptions(t *testing.T) {
	t.Parallel()
	acc, err := account.FromTransport(storagetest.New(nil), nil)
	noError(t, err)
	short := table.Common{WriteTimeout: time.Minute}
	for name, c := range map[string]struct {
		o    logtail.Options
		want string
	}{
		"too many partitions": {logtail.Options{Spread: 1001}, "Options.Spread"},
		"no partition":        {logtail.Options{Spread: -1}, "Options.Spread"},
		"too short":           {logtail.Options{Common: short, Overlap: time.Second}, "Options.Overlap"},
		"negative pause":      {logtail.Options{Poll: -1}, "Options.Poll"},
		"negative overlap":    {logtail.Options{Overlap: -1}, "Options.Overlap"},
		"no bound":            {logtail.Options{Common: table.Common{WriteTimeout: -1}}, "Common.WriteTimeout"},
	} {
		if err := logtail.New[claim](&host.Host{Tables: acc.Tables()}, "claims", &c.o).Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v; want one that names %s", name, err, c.want)
		}
	}
	claims := logtail.New[claim](&host.Host{Tables: acc.Tables()}, "claims", nil)
	err = claims.Err()
	noError(t, err)
	ctx := context.Background()
	var ke *keys.KeyError
	if _, err := claims.In(keys.RawPartition("a/b")).Append(ctx, &claim{}); !errors.As(err, &ke) {
		t.Errorf("a source with /: got error %v; want a *keys.KeyError", err)
	}
	if _, err := claims.Append(ctx, nil); err == nil {
		t.Error("a nil value: got no error; want a *table.ValueError")
	}
	for _, err := range claims.Tail(ctx, 0) {
		var ve *table.ValueError
		if !errors.As(err, &ve) {
			t.Errorf("Tail of 0: got error %v; want a *table.ValueError", err)
		}
	}
	for _, err := range claims.Tail(ctx, 1) {
		if !errors.Is(err, table.ErrNotCreated) {
			t.Errorf("Tail without a table: got error %v; want ErrNotCreated", err)
		}
	}
}
