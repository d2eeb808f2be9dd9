package index_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// bulkInsert stores workers, many at a time.
func bulkInsert(t *testing.T, staff *table.Table[worker], n int, of func(i int) worker) {
	t.Helper()
	_, err := door.Bulk(context.Background(), func(yield func(table.Op, error) bool) {
		for i := range n {
			w := of(i)
			if !yield(staff.InsertOp(&w), nil) {
				return
			}
		}
	}, nil)
	check(t, err)
}

// TestRepairsAreLinear: the requests of repairs grow with the faults, not with the entities that share a row.
func TestRepairsAreLinear(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const n = 300
	lower := index.NewSummary("ages", keys.Text(), func(w *worker) (string, bool) { return strings.ToLower(w.Last), w.Last != "" },
		nil, index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), w.Age > 0 }})
	lowerTeams := index.NewLists("team", keys.Text(), func(w *worker) (string, bool) { return strings.ToLower(w.Last), w.Last != "" },
		&index.ListOptions{Property: "EmployeeIDs"})
	double := index.NewSummary("ages", keys.Text(), name,
		nil, index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return 2 * int64(w.Age), w.Age > 0 }})
	lowerLast := index.New("last", keys.Ordered(), func(w *worker) (string, bool) { return strings.ToLower(w.Last), w.Last != "" }, nil).Only()
	nobodys := func(*worker) (string, bool) { return "", false }
	noLast := index.New("last", keys.Ordered(), nobodys, nil).Only()
	noEmail := index.New("email", keys.Fold(keys.Text()), nobodys, &index.Options{Unique: true})
	one := func(i int) worker { return worker{"S", i, "Jones", "", 1 + i, nil} }
	each := func(i int) worker { return worker{"S", i, fmt.Sprint("L", i), fmt.Sprint("e", i), 1, nil} }
	loseGroups := func(s *storagetest.Service) {
		for i := range n {
			check(t, rawTable(t, s).DeleteAny(ctx, rowAt(fmt.Sprint("ages_L", i))))
		}
	}
	for what, c := range testkit.SomeNamed(map[string]struct {
		was, is extend.Definition[worker]
		of      func(i int) worker
		damage  func(s *storagetest.Service)
		most    requests.Counts
	}{
		"the group of each entity is lost":         {ages, ages, each, loseGroups, requests.Counts{requests.Query: 12, requests.Get: 3 * n, requests.Insert: n, requests.Replace: n}},
		"another measure, and the groups are lost": {ages, double, each, loseGroups, requests.Counts{requests.Query: 18, requests.Transaction: 6, requests.Replace: n}},
		"a new key of an index":                    {byLast, lowerLast, one, nil, requests.Counts{requests.Query: 3, requests.Transaction: 10}},
		"an index without entities":                {byLast, noLast, one, nil, requests.Counts{requests.Query: 3, requests.Transaction: 6}},
		"a unique index without entities":          {byEmail, noEmail, each, nil, requests.Counts{requests.Query: 3, requests.Get: n, requests.Transaction: 6}},
		// Entities leave a group, and each is its minimum.
		"a new key of a summary": {ages, lower, one, nil, requests.Counts{requests.Query: 12, requests.Get: 12, requests.Transaction: 6, requests.Replace: 5}},
		"a list of deleted entities": {teams, teams, one, func(s *storagetest.Service) {
			for i := range n {
				check(t, rawTable(t, s).DeleteAny(ctx, at(i)))
			}
		}, requests.Counts{requests.Query: 5, requests.Get: 4 * n, requests.Delete: 1}},
		"a new key of lists": {teams, lowerTeams, one, nil, requests.Counts{requests.Query: 5, requests.Get: 12, requests.Transaction: 6}},
		"a lost list":        {teams, teams, one, func(s *storagetest.Service) { check(t, rawTable(t, s).DeleteAny(ctx, rowAt("team_Jones"))) }, requests.Counts{requests.Query: 5, requests.Get: 3*n + 6, requests.Transaction: 6}},
	}) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			old, s := newStaff(t, c.was)
			bulkInsert(t, old, n, c.of)
			if c.damage != nil {
				c.damage(s)
			}
			staff, err := baretest.Attach(openAs(t, s.ConnectionString(), s, schema), c.is)
			check(t, err)
			s.Count()
			r, _ := mustVerify(t, staff, verify.Options{Pass: table.Pass{Partitions: sales.Point()}}, c.is)
			counts := s.Count()
			t.Log(counts, r)
			if r.Faults > 0 || r.Changed == 0 {
				t.Errorf("verify with repair: got report %+v; want a sound report and at least 1 repair", r)
			}
			for kind, n := range counts {
				if n > c.most[kind] {
					t.Errorf("requests of kind %v: got %d; want at most %d; all requests: got %v; want at most %v", kind, n, c.most[kind], counts, c.most)
				}
			}
			if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, c.is); r.Faults > 0 {
				t.Errorf("verify after the repair: got report %+v and faults %v; want a sound report", r, faults)
			}
		})
	}
}

// TestNewDefinitionReported: a run without repair reads the entities of a new definition once.
func TestNewDefinitionReported(t *testing.T) {
	t.Parallel()
	const n = 1500
	base, s := newStaff(t)
	bulkInsert(t, base, n, func(i int) worker { return worker{"S", i, "L", "", 1, nil} })
	staff, err := baretest.Attach(base, byLast, ages)
	check(t, err)
	s.Count()
	var entities int
	r, err := verify.Check(context.Background(), staff, &verify.Options{Pass: table.Pass{Partitions: sales.Point(), Progress: func(r table.Progress) { entities = r.Rows }}}, byLast, ages)
	check(t, err)
	if r.Counts[verify.Missing] != n || r.Counts[verify.StateMismatch] != n || entities != n {
		t.Errorf("verify without repair: got report %+v and %d entities at the last call of Progress; want %d missing, %d state mismatches and %d entities",
			r, entities, n, n, n)
	}
	if counts := s.Count(); counts[requests.Get] > 0 || counts[requests.Query] > 12 {
		t.Errorf("requests of verify without repair: got %v; want no Get and at most 12 queries", counts)
	}
}

// watched notes when rows are written, by the second, and how many are read one by one.
type watched struct {
	*storagetest.Service
	mu      sync.Mutex
	written map[int64]int
	read    int
}

func (w *watched) Do(r *http.Request) (*http.Response, error) {
	n := 0
	if r.Method != http.MethodGet {
		n = 1
	}
	if strings.Contains(r.URL.Path, "$batch") {
		b, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(b))
		n = bytes.Count(b, []byte("HTTP/1.1"))
	}
	w.mu.Lock()
	if w.written[time.Now().Unix()] += n; strings.Contains(r.URL.Path, "RowKey='") && n == 0 {
		w.read++
	}
	w.mu.Unlock()
	return w.Service.Do(r)
}

// TestPaceOfRepairs: repairs keep to Options.Rate.
func TestPaceOfRepairs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := storagetest.New(nil)
		w := &watched{Service: s, written: map[int64]int{}}
		base := openAs(t, s.ConnectionString(), w, schema)
		check(t, tabledoor.Ensure(ctx, base))
		bulkInsert(t, base, 900, func(i int) worker { return worker{"S", i, fmt.Sprint("L", i%7), fmt.Sprint("m", i), 1 + i, nil} })
		staff, err := baretest.Attach(base, byEmail, byLast, teams, ages)
		check(t, err)
		for _, damage := range []struct {
			name string
			do   func()
		}{
			{"backfill", func() {}},
			{"changed copies and missing pointers", func() {
				for i := range 100 {
					check(t, rawTable(t, s).MergeAny(ctx, rowAt(fmt.Sprint("email_m", i)), table.PropertyOf[string]("Last").Set("x")))
					check(t, rawTable(t, s).DeleteAny(ctx, rowAt(fmt.Sprintf("last_L%d!_w_%06d", i%7, i))))
				}
			}},
			{"missing lists and summaries", func() {
				for i := range 7 {
					check(t, rawTable(t, s).DeleteAny(ctx, rowAt(fmt.Sprint("team_L", i))))
					check(t, rawTable(t, s).DeleteAny(ctx, rowAt(fmt.Sprint("ages_L", i))))
				}
			}},
		} {
			damage.do()
			w.mu.Lock()
			w.written, w.read = map[int64]int{}, 0
			w.mu.Unlock()
			begun := time.Now()
			r, err := verify.Repair(ctx, staff, &verify.Options{Pass: table.Pass{Rate: 100}}, byEmail, byLast, teams, ages)
			if err != nil || r.Faults > 0 || r.Changed == 0 {
				t.Fatalf("%s: verify with repair: got report %+v and error %v; want a sound report, at least 1 repair and no error", damage.name, r, err)
			}
			all := r.Rows + r.Counts["derived rows"] + w.read
			for second, n := range w.written {
				if all += n; n > 210 { // the rows of one second may be written within two
					t.Errorf("%s: rows written in second %d: got %d; want at most 210", damage.name, second, n)
				}
			}
			if per := float64(all) / time.Since(begun).Seconds(); per > 101 {
				t.Errorf("%s: rows a second: got %.1f, of %d rows in %v; want at most 101", damage.name, per, all, time.Since(begun))
			}
		}
	})
}

// TestTokenBehindFinished: with several partitions at a time, the token is not behind a partition that is not finished.
func TestTokenBehindFinished(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byLast)
	for _, d := range []string{"A", "B", "C", "D"} {
		insertAll(t, staff, s, worker{d, 1, "Jones", "", 30, nil})
	}
	held := make(chan bool)
	h := transportFunc(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.RawQuery, "PartitionKey+eq+%27A%27") {
			<-held
		}
		return s.Do(r)
	})
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), h, schema), byLast)
	check(t, err)
	var tokens []string
	_, err = verify.Check(ctx, slow, &verify.Options{Pass: table.Pass{Concurrency: 2, Progress: func(r table.Progress) {
		tokens = append(tokens, r.Token)
		if r.Counts["partitions"] == 3 {
			close(held)
		}
	}}}, byLast)
	check(t, err)
	if want := []string{"", "", "", "2:a3b36a04:D"}; !slices.Equal(tokens, want) {
		t.Errorf("tokens: got %q; want %q", tokens, want)
	}
	// A finished partition is not listed again.
	s.Count()
	r, err := verify.Check(ctx, staff, &verify.Options{Pass: table.Pass{Token: "2:3dd7ffa7:C"}}, byLast, byLast)
	if err != nil || r.Counts["partitions"] != 1 || r.Counts["derived rows"] != 1 {
		t.Errorf("verify from token of C: got report %+v and error %v; want 1 partition, 1 row and no error", r, err)
	}
	testkit.Expect(t, "requests of verify from token of C", s.Count().String(), "4 query")
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }
