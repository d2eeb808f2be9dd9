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

// The workloads of this file come in pairs: code that is often written by hand and has a bug, and the same code without the bug.
// The tests check that crashtest finds each bug. The code uses the SDK alone.

// tables returns the SDK's clients of two tables, without retries.
func tables(p *crashtest.Process) (staff, byEmail *aztables.Client) {
	c := newClient(p)
	return c.NewClient("staff"), c.NewClient("byemail")
}

// newClient returns the SDK's client of a process, or of the account itself. An error is a panic, which crashtest reports as a
// violation, because t.Fatal works only in the goroutine of the test.
func newClient(t interface {
	policy.Transporter
	ConnectionString() string
}) *aztables.ServiceClient {
	c, err := aztables.NewServiceClientFromConnectionString(t.ConnectionString(), &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: t, Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		panic(err)
	}
	return c
}

// setup creates the tables.
func setup(ctx context.Context, p *crashtest.Process) error {
	staff, byEmail := tables(p)
	_, err1 := staff.CreateTable(ctx, nil)
	_, err2 := byEmail.CreateTable(ctx, nil)
	return errors.Join(err1, err2)
}

// submit sends a transaction. The SDK panics on some truncated responses.
func submit(ctx context.Context, c *aztables.Client, actions []aztables.TransactionAction) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the SDK panicked: %v", r)
		}
	}()
	_, err = c.SubmitTransaction(ctx, actions, nil)
	return err
}

// has reports whether an error has an error code.
func has(err error, code string) bool {
	var re *azcore.ResponseError
	return errors.As(err, &re) && re.ErrorCode == code
}

// row returns an entity as JSON.
func row(partition, row, more string) []byte {
	return fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q%s}`, partition, row, more)
}

// rowKeys returns the RowKeys of a table without those of commit records.
func rowKeys(s *storagetest.Service, table string) (all []string) {
	for _, r := range s.Rows(table) {
		if !strings.HasPrefix(r.RowKey, "~") {
			all = append(all, r.RowKey)
		}
	}
	slices.Sort(all)
	return all
}

// checkIndex checks that the index contains one row for each row, and no other rows.
func checkIndex(s *storagetest.Service) error {
	if rows, index := rowKeys(s, "staff"), rowKeys(s, "byemail"); !slices.Equal(rows, index) {
		return fmt.Errorf("got index rows %q; want %q", index, rows)
	}
	return nil
}

// twoWrites inserts a row, and then the index row into another table. A crash in between leaves the row without its index row.
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
		Check: checkIndex,
	}
}

// withCommitRecord is twoWrites with a commit record in the transaction that inserts the row, and a sweeper that completes the
// write.
func withCommitRecord() crashtest.Workload {
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
				var record struct{ RowKey string }
				if err := json.Unmarshal(e, &record); err != nil {
					return err
				}
				if err := finish(ctx, staff, byEmail, strings.TrimPrefix(record.RowKey, "~i|")); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return w
}

// blindRetry repeats a failed insert, and takes an existing row for the row of a concurrent writer.
func blindRetry() crashtest.Workload { return retriedInsert(false) }

// retryWithOperationID is blindRetry with an operation ID in the row, which a read compares.
func retryWithOperationID() crashtest.Workload { return retriedInsert(true) }

func retriedInsert(compare bool) crashtest.Workload {
	outcome := ""
	return crashtest.Workload{
		Setup: setup,
		Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
			staff, _ := tables(p)
			for range 3 {
				_, err := staff.AddEntity(ctx, row("p", "r", `,"Op":"mine"`), nil)
				switch {
				case err == nil:
					outcome = "inserted"
					return nil
				case ctx.Err() != nil:
					return err
				case !has(err, "EntityAlreadyExists"):
					continue
				}
				if compare {
					got, err := staff.GetEntity(ctx, "p", "r", nil)
					if err != nil {
						continue
					}
					if strings.Contains(string(got.Value), `"Op":"mine"`) {
						outcome = "inserted"
						return nil
					}
				}
				outcome = "foreign"
				return nil
			}
			return errors.New("unknown")
		}},
		Check: func(s *storagetest.Service) error {
			rows := s.Rows("staff")
			switch {
			case outcome == "foreign" && rows[0].Get("Op") == "mine":
				return errors.New("the process took its own row for a foreign row")
			case outcome == "inserted" && len(rows) == 0:
				return errors.New("the inserted row is missing")
			}
			return nil
		},
	}
}

// unconditionalDelete deletes an expired session without a condition, while another process renews the session.
func unconditionalDelete() crashtest.Workload { return expiry(false) }

// conditionalDelete deletes an expired session if the session has not changed.
func conditionalDelete() crashtest.Workload { return expiry(true) }

func expiry(conditional bool) crashtest.Workload {
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
				return errors.New("the renewed session is deleted")
			}
			return nil
		},
	}
}
