package index_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// The kinds of definitions that the other two sets lack.
var (
	mail        = func(w *worker) (string, bool) { return w.Email, w.Email != "" }
	name        = func(w *worker) (string, bool) { return w.Last, true }
	mailPointer = index.New("mp", keys.Fold(keys.Text()), mail, &index.Options{Unique: true}).Only()
	mailOnly    = index.New("mo", keys.Fold(keys.Text()), mail, &index.Options{Unique: true}).Only(email)
	namesFull   = index.New("nf", keys.Text(), name, nil)
	nameLists   = index.NewLists("nl", keys.Text(), name, &index.ListOptions{Reserved: true})
	nameSums    = index.NewSummary("ns", keys.Text(), name, &index.SummaryOptions{Reserved: true}, index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), true }, ExactUpTo: -1})
)

func otherDefinitions() []extend.Definition[worker] {
	return []extend.Definition[worker]{mailPointer, mailOnly, namesFull, nameLists, nameSums}
}

// checkOthers compares the rows of otherDefinitions with the entities, by a full scan.
func checkOthers(s *storagetest.Service) error {
	got, want := map[string]string{}, map[string]string{}
	lists, ages := map[string][]string{}, map[string][]int64{}
	for _, r := range s.Rows("staff") {
		if isForeignRow(r.RowKey) {
			continue
		}
		whose, _ := r.Get("_sys").(string)
		whose, _, _ = strings.Cut(whose, "/")
		kind, _, _ := strings.Cut(r.RowKey, "_")
		switch kind {
		case "w":
			last, age := r.Get("Last").(string), r.Get("Age").(int64)
			lists[last], ages[last] = append(lists[last], r.RowKey), append(ages[last], age)
			want["nf_"+last+"_"+r.RowKey] = fmt.Sprint(r.RowKey, last, r.Get("Email"), age, r.Get("Tags"), r.Get("_op"))
			mail := r.Get("Email").(string)
			if mail == "" {
				continue
			}
			for _, row := range []string{"mp_" + strings.ToLower(mail), "mo_" + strings.ToLower(mail)} {
				if want[row] != "" {
					return fmt.Errorf("two have %s", mail)
				}
				if want[row] = r.RowKey; row[1] == 'o' {
					want[row] += mail
				}
			}
		case "mp":
			got[r.RowKey] = whose
		case "mo":
			got[r.RowKey] = fmt.Sprint(whose, r.Get("Email"))
		case "nf":
			got[r.RowKey] = fmt.Sprint(whose, r.Get("Last"), r.Get("Email"), r.Get("Age"), r.Get("Tags"), r.Get("_op"))
		case "~x|nl":
			got[r.RowKey] = r.Get("Members").(string)
		case "~x|ns":
			least, most := r.Get("AgeMin").(int64), r.Get("AgeMax").(int64)
			got[r.RowKey] = fmt.Sprint(r.Get("Count"), r.Get("AgeCount"), r.Get("AgeSum"), " ", least, most)
			if all := ages[strings.TrimPrefix(r.RowKey, "~x|ns_")]; r.Get("AgeLoose") == true && (len(all) == 0 || least > slices.Min(all) || most < slices.Max(all)) {
				return fmt.Errorf("approximate bounds of %s: got %d and %d; want bounds with all of %v between them", r.RowKey, least, most, all)
			} else if len(all) > 0 && r.Get("AgeLoose") == true {
				got[r.RowKey] = fmt.Sprint(r.Get("Count"), r.Get("AgeCount"), r.Get("AgeSum"), " ", slices.Min(all), slices.Max(all))
			}
		default:
			return fmt.Errorf("row %s: got %v; want none", r.RowKey, r)
		}
	}
	for last, all := range lists {
		var sum int64
		for _, n := range ages[last] {
			sum += n
		}
		want["~x|nl_"+last] = strings.Join(all, "/")
		want["~x|ns_"+last] = fmt.Sprint(int64(len(all)), int64(len(all)), sum, " ", slices.Min(ages[last]), slices.Max(ages[last]))
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("rows of the other definitions: got %v; want %v", got, want)
	}
	return nil
}

// damagesOf returns damages by another program to the rows of a definition set. None deletes a unique row: another entity could
// then get its value, which verify.Check reports and does not repair.
func damagesOf(kind string) []func(context.Context, *table.Table[table.Row]) error {
	remove := func(rowKey string) func(context.Context, *table.Table[table.Row]) error {
		return func(ctx context.Context, rows *table.Table[table.Row]) error {
			return rows.DeleteAny(ctx, keys.Raw("S", rowKey))
		}
	}
	set := func(rowKey, property string, v any) func(context.Context, *table.Table[table.Row]) error {
		return func(ctx context.Context, rows *table.Table[table.Row]) error {
			set := table.PropertyOf[string](property).Set(fmt.Sprint(v))
			if n, is := v.(int64); is {
				set = table.PropertyOf[int64](property).Set(n)
			}
			if err := rows.MergeAny(ctx, keys.Raw("S", rowKey), set); !errors.Is(err, table.ErrNotFound) {
				return err
			}
			return nil // a row that this program made anew would be its own
		}
	}
	return map[string][]func(context.Context, *table.Table[table.Row]) error{
		"copies": {set("email_a", "Last", "x"), remove("last_Jones!_w_000001"), set("email_b", "Age", int64(9)), set("age_030_w_000001", "Last", "x"), set("w_000001", "Last", "Smith")},
		"shared": {remove("team_Jones"), remove("ages_Jones"), set("team_Jones", "EmployeeIDs", "w_000001/w_000009"), set("ages_Jones", "AgeSum", int64(7)), set("department", "HeadLast", "x")},
		"others": {set("mo_a", "Email", "y"), set("mo_b", "Email", "x"), remove("nf_Jones_w_000001"), set("w_000002", "Last", "Smith"), set("w_000001", "Age", int64(50))},
	}[kind]
}

// TestRepairSchedules: verify.Repair repairs damaged rows while two programs write, in random
// schedules. When all have ended and it has run once more, all rows are right.
func TestRepairSchedules(t *testing.T) {
	t.Parallel()
	for name, k := range definitionSets(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repair := func(ctx context.Context, p *crashtest.Process) error {
				staff, err := k.open(p)
				if err != nil {
					return err
				}
				r, err := verify.Repair(ctx, staff, nil, asDefinitions(k.definitions)...)
				if err == nil && r.Faults > 0 {
					return fmt.Errorf("verify with repair: got %+v; want a sound report", r)
				}
				return err
			}
			build := func() crashtest.Workload {
				w := crashtest.Workload{
					Setup: func(ctx context.Context, p *crashtest.Process) error {
						if err := k.setUp(ctx, p); err != nil {
							return err
						}
						staff, err := k.open(p)
						if err != nil {
							return err
						}
						all := damagesOf(name)
						rows := door.Rows[table.Table[table.Row]](door.Table(staff), false)
						for _, i := range p.Rand().Perm(len(all))[:2] {
							if err := all[i](ctx, rows); err != nil && !errors.Is(err, table.ErrNotFound) {
								return err
							}
						}
						return nil
					},
					Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
						staff, err := k.open(p)
						if err != nil {
							return err
						}
						_, err = verify.Repair(ctx, staff, nil, asDefinitions(k.definitions)...)
						return err
					}},
					Drain: repair,
					Check: k.right,
				}
				for range 2 {
					w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
						staff, err := k.open(p)
						if err != nil {
							return err
						}
						_, _ = randomOperation(ctx, staff, p.Rand()) // a look-up may return a wrong result for damaged rows
						return nil
					})
				}
				return w
			}
			r := crashtest.Schedules(t, build, crashOptions(t, crashtest.Options{FaultRate: 0.1, Runs: 5}))
			r.Require(t)
			t.Log(r)
		})
	}
}
