package processes

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// visit is an entity that ends.
type visit struct {
	House, ID string
	Ends      time.Time
}

var (
	visitHouse = keys.Partition(keys.Text(), func(v *visit) *string { return &v.House })
	visitID    = keys.Row(keys.Text().Named("visit"), func(v *visit) *string { return &v.ID })

	manyVisits = testkit.Count("sweepvisits", 2000, "entities that end, swept by two processes of which one is killed")
)

const visitHouses = 20

// visitSweeper is a process that sweeps visits. Its clock is two hours ahead, so that it also looks into the hour that it is.
type visitSweeper struct {
	connection
	Prefix string
}

func (s visitSweeper) open() (*aztablekit.Store, *expire.Ends[visit], *table.Table[visit], error) {
	acc, err := s.connection.open()
	if err != nil {
		return nil, nil, nil, err
	}
	ends := expire.At(func(v *visit) time.Time { return v.Ends }, nil)
	o := &aztablekit.Options{Prefix: s.Prefix, Daily: -1, Now: func() time.Time { return time.Now().Add(2 * time.Hour) }}
	store := aztablekit.Open(acc, "v", o)
	return store, ends, aztablekit.Table(store, "visits", visitHouse, visitID, ends), nil
}

// runVisitSweeper is the program of a process: it sweeps, and prints what it has deleted.
func runVisitSweeper(settings []byte) error {
	var s visitSweeper
	if err := json.Unmarshal(settings, &s); err != nil {
		return err
	}
	_, ends, visits, err := s.open()
	if err != nil {
		return err
	}
	fmt.Println("begins")
	done, err := ends.Sweep(inputContext(), visits, nil)
	fmt.Println("deleted", done.Changed)
	return err
}

// TestSweep: two processes sweep the same table, and one of them is killed. All visits that are over are deleted, none that is not, and no reader finds one that is over.
func TestSweep(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := visitSweeper{service, freshName()}
	store, ends, visits, err := s.open()
	must(t, err)
	must(t, store.Ensure(ctx))
	over, alive := time.Now().Add(-time.Second), time.Now().Add(30*time.Minute) // mostly of one hour
	lives := map[string]bool{}
	_, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range *manyVisits {
			v := &visit{fmt.Sprint("house", i%visitHouses), fmt.Sprintf("%06d", i), over}
			if i%10 == 0 {
				v.Ends = alive
				lives[v.ID] = true
			}
			if !yield(visits.InsertOp(v), nil) {
				return
			}
		}
	}, nil)
	must(t, err)

	began := time.Now()
	var all []*process
	for range 2 {
		p, err := start("visit sweeper", s)
		must(t, err)
		defer p.kill()
		all = append(all, p)
	}
	if !all[0].lines.Scan() {
		t.Fatal("the first process has not begun")
	}
	found := 0
	for i := range visitHouses { // readers beside the sweeps
		for e, err := range visits.List(ctx, table.Query[visit]{Partition: visitHouse.Of(fmt.Sprint("house", i))}) {
			must(t, err)
			found++
			if !lives[e.Value.ID] {
				t.Errorf("got visit %s in a list; want that it is over", e.Value.ID)
			}
		}
	}
	testkit.Expect(t, "living visits in lists", found, len(lives))
	all[0].kill()
	for all[1].lines.Scan() {
		t.Log("the other process: ", all[1].lines.Text())
	}
	_ = all[0].wait()
	must(t, all[1].wait())
	t.Logf("%d visits, in %v", *manyVisits, time.Since(began).Round(time.Millisecond))

	rest, err := ends.Sweep(ctx, visits, nil) // what the killed process was at
	must(t, err)
	testkit.Expect(t, "visits that are left to sweep", rest.Changed, 0)
	acc, err := service.open()
	must(t, err)
	rows, err := bare.NewTable(acc.Tables(), visits.Name(), table.Schema[table.Row]{}, nil) // which knows of no ends
	must(t, err)
	left := 0
	for i := range visitHouses {
		for row, err := range rows.List(ctx, table.Query[table.Row]{Partition: visitHouse.Of(fmt.Sprint("house", i))}) {
			must(t, err)
			left++
			if id := row.Key.RowKey()[len("visit_"):]; !lives[id] {
				t.Errorf("got the row of visit %s; want that it is deleted", id)
			}
		}
	}
	testkit.Expect(t, "rows of visits", left, len(lives))
}
