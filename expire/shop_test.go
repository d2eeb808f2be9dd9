package expire_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type session struct {
	User, ID string
	Mail     string
	Ends     time.Time
	Hits     int
}

var (
	user = keys.Partition(keys.Text(), func(s *session) *string { return &s.User })
	id   = keys.Row(keys.Text().Named("id"), func(s *session) *string { return &s.ID })
)

// clock is a service's clock that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock(at time.Time) *clock { return &clock{at: at} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = to
}

func (c *clock) pass(d time.Duration) { c.set(c.now().Add(d)) }

// shop is a store with sessions, on a service with a clock of its own.
type shop struct {
	*aztablekit.Store
	clock    *clock
	seen     int // requests of the service
	service  *storagetest.Service
	end      func(*session) time.Time
	ends     *expire.Ends[session]
	withJob  bool
	job      *jobs.Job[session, struct{}]
	lease    time.Duration // of the catalogue
	sessions *table.Table[session]
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func newShop(t testing.TB, o *expire.Options, more ...extend.Definition[session]) *shop {
	t.Helper()
	c := newClock(noon)
	s := &shop{clock: c, end: func(s *session) time.Time { return s.Ends }, service: storagetest.New(&storagetest.Options{Now: c.now})}
	s.open(t, s.service, o, more...)
	return s
}

// open opens the store over an account, such as the service with faults.
func (s *shop) open(t testing.TB, account aztablekit.Account, o *expire.Options, more ...extend.Definition[session]) {
	t.Helper()
	if err := s.tryOpen(t.Context(), account, o, more...); err != nil {
		t.Fatal(err)
	}
}

func (s *shop) tryOpen(ctx context.Context, account aztablekit.Account, o *expire.Options, more ...extend.Definition[session]) error {
	s.ends = expire.At(s.end, o)
	if s.withJob {
		s.job = s.ends.Job("sweep")
		more = append(more, s.job)
	}
	s.Store = aztablekit.Open(account, "shop", &aztablekit.Options{Daily: -1, CatalogueAge: s.lease, Now: s.clock.now})
	s.sessions = aztablekit.Table(s.Store, "sessions", user, id, append(more, extend.Definition[session](s.ends))...)
	return s.Ensure(ctx)
}

var must = testkit.NoError

// expectError expects an error with a text.
func expectError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v; want an error with %q", err, want)
	}
}

func at(u, i string) keys.Key { return keys.At(user.Of(u), id.Of(i)) }

// insert stores a session of ann that ends after d; 0 is never.
func (s *shop) insert(t testing.TB, i string, d time.Duration) *table.Entity[session] {
	t.Helper()
	v := &session{User: "ann", ID: i, Mail: i + "@contoso.com"}
	if d != 0 {
		v.Ends = s.clock.now().Add(d)
	}
	e, err := s.sessions.Insert(context.Background(), v)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// sent returns the requests to tables since the last call, but those for catalogues.
func (s *shop) sent() (all []string) {
	log := s.service.Requests()
	for _, r := range log[s.seen:] {
		if r.Table != "" && r.PartitionKey != "~c" {
			all = append(all, string(r.Kind)+" "+r.Table)
		}
	}
	s.seen = len(log)
	return all
}

// rows returns the RowKeys of the sessions' table that are there.
func (s *shop) rows() (all []string) {
	for _, r := range s.service.Rows("sessions") {
		if r.PartitionKey != "~c" {
			all = append(all, r.PartitionKey+" "+r.RowKey)
		}
	}
	return all
}
