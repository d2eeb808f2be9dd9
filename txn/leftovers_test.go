package txn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestListedBetween: a merge of an entity that was listed between the commit and the end of a transaction is not lost.
func TestListedBetween(t *testing.T) {
	t.Parallel()
	s, others := newBank(t)
	ctx := t.Context()
	b := beforeBatch(t, s, func(n int) {
		if n != 3 { // the end of a transaction that has committed
			return
		}
		for e, err := range others.accounts.List(ctx, table.Query[bankAccount]{Partition: city.Of("Zug")}) {
			testkit.NoError(t, err)
			testkit.Expect(t, "listed", e.Value.Cents, 130)
			err = others.accounts.Merge(ctx, e, cents.Set(e.Value.Cents+1))
			if err != nil && !errors.Is(err, table.ErrChanged) {
				t.Errorf("got %v; want no error, or ErrChanged", err)
			}
			if err != nil {
				testkit.NoError(t, others.accounts.MergeAny(ctx, e.Key, cents.Set(131)))
			}
		}
	})
	testkit.NoError(t, b.transfer(ctx, accountKey("Bern", 1), accountKey("Zug", 3), 30, ""))
	testkit.Expect(t, "accounts", others.cents(t), "Bern 1: 70; Ulm 2: 100; Zug 3: 131; ")
	testkit.NoError(t, errors.Join(others.Drain(ctx), left(s, "accounts")))
}

// TestPreparedAhead: what a program has prepared that has crashed, and whose clock was more than a day ahead, is rolled back a day later, and not when its time has come.
func TestPreparedAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := newBank(t)
		ctx := t.Context()
		acc, err := account.FromTransport(&cutOff{Service: s, n: 2}, nil)
		testkit.NoError(t, err)
		o := &aztablekit.Options{Daily: -1}
		o.Now = func() time.Time { return time.Now().Add(100 * time.Hour) }
		_ = openBank(acc, o).transfer(ctx, accountKey("Bern", 1), accountKey("Zug", 3), 30, "")
		time.Sleep(27 * time.Hour)
		e, err := b.accounts.Get(ctx, accountKey("Zug", 3))
		testkit.NoError(t, err)
		testkit.Expect(t, "cents", e.Value.Cents, 100)
		for _, r := range s.Rows("accounts") {
			if r.Get("_tx") != nil {
				t.Errorf("got %v; want no mark", r)
			}
		}
	})
}

// TestForgedRecord: a forged abort record in another partition does not let the clean-up delete what a write has prepared.
func TestForgedRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := newBank(t)
		ctx := t.Context()
		testkit.NoError(t, cut(t, s, 3).transfer(ctx, accountKey("Bern", 1), accountKey("Zug", 3), 30, "")) // it has committed, and crashes
		raw := s.Tables().NewClient("accounts")
		for _, r := range s.Rows("accounts") {
			if r.PartitionKey != "Bern" || r.Get("State") != "pending" {
				continue
			}
			resp, err := raw.GetEntity(ctx, r.PartitionKey, r.RowKey, nil)
			testkit.NoError(t, err)
			var forged map[string]any
			testkit.NoError(t, json.Unmarshal(resp.Value, &forged))
			forged["PartitionKey"], forged["State"] = "Rom", "aborted"
			body, err := json.Marshal(forged)
			testkit.NoError(t, err)
			_, err = raw.AddEntity(ctx, body, nil)
			testkit.NoError(t, err)
		}
		time.Sleep(27 * time.Hour)
		swept, err := baretest.SweepRecords(ctx, b.accounts, city.Of("Rom"))
		testkit.NoError(t, err)
		testkit.Expect(t, "forged records that were swept", swept, 1)
		e, err := b.accounts.Get(ctx, accountKey("Zug", 3))
		testkit.NoError(t, err)
		testkit.Expect(t, "cents", e.Value.Cents, 130)
	})
}

// player is an entity whose full name is unique everywhere, if the first name is Zoe.
type player struct {
	Team        string
	ID          int
	First, Last string
}

// teams is a store with players.
type teams struct {
	*aztablekit.Store
	players *table.Table[player]
}

var (
	team     = keys.Partition(keys.Text(), func(p *player) *string { return &p.Team })
	playerID = keys.Row(keys.Digits[int](4), func(p *player) *int { return &p.ID })
	first    = table.FieldOf(func(p *player) *string { return &p.First })
	last     = table.FieldOf(func(p *player) *string { return &p.Last })
)

func openTeams(acc aztablekit.Account) *teams {
	c := &teams{Store: aztablekit.Open(acc, "teams", &aztablekit.Options{Daily: -1})}
	byName := index.NewUnique("name", keys.Text(), func(p *player) (string, bool) { return p.First + p.Last, p.First == "Zoe" }, nil)
	c.players = aztablekit.Table(c.Store, "players", team, playerID, byName)
	return c
}

// TestRollBackFails: if a write that is planned again, or called again, cannot roll back what it has
// prepared, a worker does.
func TestRollBackFails(t *testing.T) {
	t.Parallel()
	key := keys.At(team.Of("Red"), playerID.Of(1))
	for name, rename := range map[string]func(context.Context, *teams) error{
		"planned again": func(ctx context.Context, c *teams) error { return c.players.MergeAny(ctx, key, first.Set("Zoe")) },
		"called again": func(ctx context.Context, c *teams) error {
			_, err := c.players.Update(ctx, key, func(p *player) error { p.First = "Zoe"; return nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := storagetest.New(nil)
				ctx := t.Context()
				others := openTeams(s)
				testkit.NoError(t, others.Ensure(ctx))
				_, err := others.players.Insert(ctx, &player{"Red", 1, "Ann", "Ash"})
				testkit.NoError(t, err)
				n, down := 0, false
				p := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "$batch") {
						if n++; n == 2 { // the commit
							testkit.NoError(t, others.players.MergeAny(ctx, key, last.Set("Elm")))
							down = true
						}
					}
				}}
				acc, err := account.FromTransport(unreachable{p, &down}, nil)
				testkit.NoError(t, err)
				testkit.NoError(t, rename(ctx, openTeams(acc)))
				if left(s, "playersname") == nil {
					t.Error("got a roll-back without the network, want none")
				}
				time.Sleep(2 * time.Minute)
				testkit.NoError(t, errors.Join(others.Drain(ctx), left(s, "players", "playersname")))
				e, err := others.players.Get(ctx, key)
				testkit.NoError(t, err)
				testkit.Expect(t, "player", e.Value, player{"Red", 1, "Zoe", "Elm"})
			})
		})
	}
}

// unreachable is a service to which no transaction about the name ZoeAsh comes while it is down.
type unreachable struct {
	*testkit.Hooked
	down *bool
}

func (u unreachable) Do(r *http.Request) (*http.Response, error) {
	if *u.down && strings.HasSuffix(r.URL.Path, "$batch") {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		if strings.Contains(string(text), "PartitionKey='name_ZoeAsh'") {
			return nil, errors.New("the network is down")
		}
	}
	return u.Hooked.Do(r)
}
