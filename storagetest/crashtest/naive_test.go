package crashtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// The helpers that people write by hand, each with the hole that it has, and the same helper without it. They use the SDK
// alone: what is tested here is whether crashtest finds the holes.

// tables are the SDK's clients of two tables, without the SDK's retries.
func tables(p *crashtest.Process) (staff, byEmail *aztables.Client) {
	c := clientOf(p)
	return c.NewClient("staff"), c.NewClient("byemail")
}

// clientOf is the SDK's client of a process, or of the account itself.
func clientOf(t interface {
	policy.Transporter
	ConnectionString() string
}) *aztables.ServiceClient {
	c, err := aztables.NewServiceClientFromConnectionString(t.ConnectionString(), &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: t, Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		panic(err)
	}
	return c
}

func setup(ctx context.Context, p *crashtest.Process) error {
	staff, byEmail := tables(p)
	_, err1 := staff.CreateTable(ctx, nil)
	_, err2 := byEmail.CreateTable(ctx, nil)
	return errors.Join(err1, err2)
}

// submit sends a transaction. The SDK panics on some responses that are cut.
func submit(ctx context.Context, c *aztables.Client, actions []aztables.TransactionAction) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the SDK panicked: %v", r)
		}
	}()
	_, err = c.SubmitTransaction(ctx, actions, nil)
	return err
}

func has(err error, code string) bool {
	var re *azcore.ResponseError
	return errors.As(err, &re) && re.ErrorCode == code
}

func row(partition, row, more string) []byte {
	return fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q%s}`, partition, row, more)
}

// rowKeys lists a table's rows but for intents.
func rowKeys(s *storagetest.Service, table string) (all []string) {
	for _, r := range s.Rows(table) {
		if !strings.HasPrefix(r.RowKey, "~") {
			all = append(all, r.RowKey)
		}
	}
	slices.Sort(all)
	return all
}

// indexed must be true of two tables: each row has its row in the index, and no other is there.
func indexed(s *storagetest.Service) error {
	if rows, index := rowKeys(s, "staff"), rowKeys(s, "byemail"); !slices.Equal(rows, index) {
		return fmt.Errorf("the rows are %q, the index has %q", rows, index)
	}
	return nil
}

// twoWrites stores an employee, and then the index row in another table.
func twoWrites() crashtest.Workload {
	return crashtest.Workload{
		Setup: setup,
		Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
			staff, byEmail := tables(p)
			if _, err := staff.AddEntity(ctx, row("p", "jones@x", ""), nil); err != nil {
				return err
			}
			_, err := byEmail.UpsertEntity(ctx, row("p", "jones@x", ""), nil)
			return err
		}},
		Check: indexed,
	}
}

// withIntent is the same with an intent in the transaction that stores the employee, and a sweeper that carries out what is
// left of it.
func withIntent() crashtest.Workload {
	finish := func(ctx context.Context, staff, byEmail *aztables.Client, name string) error {
		if _, err := byEmail.UpsertEntity(ctx, row("p", name, ""), nil); err != nil {
			return err
		}
		_, err := staff.DeleteEntity(ctx, "p", "~i|"+name, nil)
		if has(err, "ResourceNotFound") {
			return nil
		}
		return err
	}
	w := twoWrites()
	w.Processes[0] = func(ctx context.Context, p *crashtest.Process) error {
		staff, byEmail := tables(p)
		if err := submit(ctx, staff, []aztables.TransactionAction{
			{ActionType: aztables.TransactionTypeAdd, Entity: row("p", "~i|jones@x", "")},
			{ActionType: aztables.TransactionTypeAdd, Entity: row("p", "jones@x", "")},
		}); err != nil {
			return err
		}
		return finish(ctx, staff, byEmail, "jones@x")
	}
	w.Drain = func(ctx context.Context, p *crashtest.Process) error {
		staff, byEmail := tables(p)
		filter := "PartitionKey eq 'p' and RowKey gt '~'"
		for pager := staff.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter}); pager.More(); {
			page, err := pager.NextPage(ctx)
			if err != nil {
				return err
			}
			for _, e := range page.Entities {
				var intent struct{ RowKey string }
				if err := json.Unmarshal(e, &intent); err != nil {
					return err
				}
				if err := finish(ctx, staff, byEmail, strings.TrimPrefix(intent.RowKey, "~i|")); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return w
}

// blindRetry inserts a row, and again after an error; that it exists then means that somebody else was faster.
func blindRetry() crashtest.Workload { return inserting(false) }

// knownRetry marks its rows, and looks whose it is that exists.
func knownRetry() crashtest.Workload { return inserting(true) }

func inserting(look bool) crashtest.Workload {
	told := ""
	return crashtest.Workload{
		Setup: setup,
		Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
			staff, _ := tables(p)
			for range 3 {
				_, err := staff.AddEntity(ctx, row("p", "r", `,"Op":"mine"`), nil)
				switch {
				case err == nil:
					told = "inserted"
					return nil
				case ctx.Err() != nil:
					return err
				case !has(err, "EntityAlreadyExists"):
					continue
				}
				if look {
					got, err := staff.GetEntity(ctx, "p", "r", nil)
					if err != nil {
						continue
					}
					if strings.Contains(string(got.Value), `"Op":"mine"`) {
						told = "inserted"
						return nil
					}
				}
				told = "somebody else's"
				return nil
			}
			return errors.New("unknown")
		}},
		Check: func(s *storagetest.Service) error {
			rows := s.Rows("staff")
			switch {
			case told == "somebody else's" && rows[0].Get("Op") == "mine":
				return errors.New("its own row was taken for somebody else's")
			case told == "inserted" && len(rows) == 0:
				return errors.New("what was inserted is not there")
			}
			return nil
		},
	}
}

// anyDelete deletes what has expired, whatever it is by then; somebody renews it meanwhile.
func anyDelete() crashtest.Workload { return expiring(false) }

// conditionalDelete deletes what it has seen expired.
func conditionalDelete() crashtest.Workload { return expiring(true) }

func expiring(conditional bool) crashtest.Workload {
	renewed := false
	return crashtest.Workload{
		Setup: func(ctx context.Context, p *crashtest.Process) error {
			staff, _ := tables(p)
			_, err := staff.AddEntity(ctx, row("p", "session", `,"Expired":true`), nil)
			return err
		},
		Processes: []func(context.Context, *crashtest.Process) error{
			func(ctx context.Context, p *crashtest.Process) error {
				staff, _ := tables(p)
				got, err := staff.GetEntity(ctx, "p", "session", nil)
				if err != nil || !strings.Contains(string(got.Value), `"Expired":true`) {
					return err
				}
				options := &aztables.DeleteEntityOptions{}
				if conditional {
					options.IfMatch = &got.ETag
				}
				_, err = staff.DeleteEntity(ctx, "p", "session", options)
				return err
			},
			func(ctx context.Context, p *crashtest.Process) error {
				staff, _ := tables(p)
				_, err := staff.UpsertEntity(ctx, row("p", "session", `,"Expired":false`), nil)
				renewed = err == nil
				return err
			},
		},
		Check: func(s *storagetest.Service) error {
			if rows := s.Rows("staff"); renewed && (len(rows) == 0 || rows[0].Get("Expired") != false) {
				return errors.New("the session was renewed, and is gone")
			}
			return nil
		},
	}
}
