package index_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// moveDefinitions are the definitions of workers that move: a unique copy, and a list and a summary that workers share.
func moveDefinitions() []extend.Definition[worker] {
	return []extend.Definition[worker]{byEmail, teams, ages}
}

// movers are the handles of one process whose workers move.
type movers struct {
	acc   *account.Account
	staff *table.Table[worker]
	out   bareworker.Outbox
}

// openMovers returns the handles of a process, with operation IDs that repeat with the schedule. The definitions default to
// moveDefinitions.
func openMovers(p *crashtest.Process, definitions ...extend.Definition[worker]) (*movers, error) {
	return openMoversAt(p, time.Now, definitions...)
}

// openMoversAt is openMovers with a clock.
func openMoversAt(p *crashtest.Process, now func() time.Time, definitions ...extend.Definition[worker]) (*movers, error) {
	if len(definitions) == 0 {
		definitions = moveDefinitions()
	}
	acc, err := account.FromTransport(p, nil)
	if err != nil {
		return nil, err
	}
	m := &movers{acc: acc}
	c := quick().Common
	options.SetNow(&c, now)
	options.SetNewID(&c, testkit.NewID(p))
	base, err := bare.NewTable(acc.Tables(), "staff", schema, &table.Options{Common: c})
	if err == nil {
		m.out, err = bareworker.NewOutbox(acc.Queues().NewQueueClient("moves"), &c)
	}
	if err == nil {
		m.staff, err = baretest.WithOutbox(base, m.out)
	}
	if err == nil {
		m.staff, err = baretest.Attach(m.staff, definitions...)
	}
	return m, err
}

// worker returns a worker of the moves.
func (m *movers) worker() (bareworker.Worker, error) {
	c := quick().Common
	return bareworker.New(m.acc.Queues().NewQueueClient("moves"), m.acc.Queues().NewQueueClient("poison"), baretest.Handlers(m.staff),
		&eventual.WorkerOptions{Common: c, Concurrency: 1, Idle: 16 * time.Second, Attempts: 1000, MaxWait: 4 * time.Second, Visibility: 30 * time.Second})
}

// The department of a worker that moves is S at first, and T is another department with a worker.
func workerIn(d string, id int) keys.Key { return keys.At(dept.PartitionKey(d), wid.RowKey(id)) }

// setUpMovers inserts three workers.
func setUpMovers(ctx context.Context, p *crashtest.Process) error {
	m, err := openMovers(p)
	if err != nil {
		return err
	}
	w, err := m.worker()
	if err != nil {
		return err
	}
	if err := w.Ensure(ctx); err != nil {
		return err
	}
	if err := tabledoor.Ensure(ctx, m.staff); err != nil {
		return err
	}
	for _, w := range []worker{{"S", 1, "Jones", "a", 30, nil}, {"S", 2, "Jones", "b", 40, nil}, {"T", 3, "Jones", "c", 50, nil}} {
		if _, err := m.staff.Insert(ctx, &w); err != nil {
			return err
		}
	}
	return nil
}

// drainMovers runs a worker until no message is left, including hidden messages.
func drainMovers(ctx context.Context, p *crashtest.Process) error {
	m, err := openMovers(p)
	if err != nil {
		return err
	}
	return m.drain(ctx, p)
}

func (m *movers) drain(ctx context.Context, p *crashtest.Process) error {
	w, err := m.worker()
	if err != nil {
		return err
	}
	for {
		left := p.Service().Messages("moves")
		if len(left) == 0 {
			return nil
		}
		first := slices.MinFunc(left, func(a, b storagetest.Message) int { return a.Visible.Compare(b.Visible) })
		time.Sleep(first.Visible.Sub(p.Service().Now()))
		if err := w.Drain(ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("got %d messages left, want none: %w", len(left), err)
		}
	}
}

// move moves a worker to another department.
func (m *movers) move(ctx context.Context, from, to string, id int) error {
	e, err := m.staff.Get(ctx, workerIn(from, id))
	if err != nil {
		return err
	}
	e.Value.Dept = to
	return m.staff.Move(ctx, e)
}

// committedRows returns the rows of a table, without those of the library, as the commit records say.
func committedRows(s *storagetest.Service, name string) (rows []storagetest.Row, err error) {
	at := func(table, pk, rk string) *storagetest.Row {
		all := s.Rows(table)
		for i := range all {
			if all[i].PartitionKey == pk && all[i].RowKey == rk {
				return &all[i]
			}
		}
		return nil
	}
	for _, r := range s.Rows(name) {
		text, marked := r.Get("_tx").(string)
		if strings.HasPrefix(r.RowKey, "~") {
			continue
		}
		if !marked {
			rows = append(rows, r)
			continue
		}
		parts := strings.SplitN(text, "/", 6) // operation ID, table, partition, fate, number of the image, ETag
		if len(parts) != 6 {
			return nil, fmt.Errorf("the mark of %s is %q", r.RowKey, text)
		}
		record := at(parts[1], parts[2], "~i|"+parts[0])
		committed := record != nil && record.Get("State") != "aborted"
		if p := at(name, r.PartitionKey, "~t|"+parts[0]); p == nil || p.Get("State") != "pending" {
			return nil, fmt.Errorf("%s is marked, and its preparation is %v", r.RowKey, p)
		}
		switch fate := parts[3]; {
		case fate == "insert" && committed, fate != "insert" && !committed:
			rows = append(rows, r)
		case fate == "replace":
			image := at(name, r.PartitionKey, fmt.Sprintf("~t|%s|%02s", parts[0], parts[4]))
			if image == nil {
				return nil, fmt.Errorf("%s is marked, and its image is missing", r.RowKey)
			}
			c := *image
			c.RowKey = r.RowKey
			rows = append(rows, c)
		}
	}
	return rows, nil
}

// placesOf returns the workers of a committed state, and an error if a worker is in two departments or if derived rows differ from
// the workers.
func placesOf(s *storagetest.Service) (places map[int64]storagetest.Row, err error) {
	rows, err := committedRows(s, "staff")
	if err != nil {
		return nil, err
	}
	places = map[int64]storagetest.Row{}
	want, got := map[string]string{}, map[string]string{}
	members, sums := map[string][]string{}, map[string]int64{}
	for _, r := range rows {
		name := r.PartitionKey + "/" + r.RowKey
		switch kind, rest, _ := strings.Cut(r.RowKey, "_"); kind {
		case "w":
			id, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				return nil, err
			}
			if other, twice := places[id]; twice {
				return nil, fmt.Errorf("worker %d is in %s and %s", id, other.PartitionKey, r.PartitionKey)
			}
			places[id] = r
			if mail := r.Get("Email"); mail != "" {
				want[fmt.Sprint(r.PartitionKey, "/email_", mail)] = fmt.Sprint(r.Get("Last"), r.Get("Age"))
			}
			group := r.PartitionKey + "/" + r.Get("Last").(string)
			members[group], sums[group] = append(members[group], r.RowKey), sums[group]+r.Get("Age").(int64)
		case "email":
			got[name] = fmt.Sprint(r.Get("Last"), r.Get("Age"))
		case "team":
			got[name] = fmt.Sprint(r.Get("EmployeeIDs"))
		case "ages":
			got[name] = fmt.Sprint(r.Get("Count"), r.Get("AgeSum"))
		default:
			return nil, fmt.Errorf("%s is left", name)
		}
	}
	for group, all := range members {
		pk, last, _ := strings.Cut(group, "/")
		want[pk+"/team_"+last] = strings.Join(all, "/")
		want[pk+"/ages_"+last] = fmt.Sprint(int64(len(all)), sums[group])
	}
	if !maps.Equal(got, want) {
		return nil, fmt.Errorf("the derived rows are %v; want %v", got, want)
	}
	return places, nil
}

// movesRight returns an error unless each of the workers is in exactly one department at this instant, with its derived rows.
func movesRight(ids ...int64) func(*storagetest.Service) error {
	return func(s *storagetest.Service) error {
		places, err := placesOf(s)
		for _, id := range ids {
			if _, there := places[id]; err == nil && !there {
				err = fmt.Errorf("worker %d is in no department", id)
			}
		}
		return err
	}
}

// nothingPrepared returns an error if a row is marked, or a preparation, commit record or message is left.
func nothingPrepared(s *storagetest.Service) error {
	for _, r := range slices.Concat(s.Rows("staff"), s.Rows("stafflogin")) {
		if r.Get("_tx") != nil || r.Get("State") == "pending" || strings.HasPrefix(r.RowKey, "~t|") && strings.Count(r.RowKey, "|") > 1 {
			return fmt.Errorf("%s in %s is left: %v", r.RowKey, r.PartitionKey, r)
		}
	}
	if n := len(s.Messages("moves")) + len(s.Messages("poison")); n > 0 {
		return fmt.Errorf("got %d messages; want none", n)
	}
	return nil
}
