package crashtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// This file is the tutorial of docs/storagetest.md. TestTutorial checks that the page contains its parts.

// tutorial:code
type employee struct {
	PartitionKey, RowKey string
	Salary               int
	LastRaise            string
}

// raise raises a salary. The ID of the raise stays in the row, so that a raise is applied once.
func raise(ctx context.Context, staff *aztables.Client, name string, by int, id string) error {
	for {
		stored, err := staff.GetEntity(ctx, "Sales", name, nil)
		if err != nil {
			return err
		}
		var e employee
		if err := json.Unmarshal(stored.Value, &e); err != nil {
			return err
		}
		if e.LastRaise == id {
			return nil
		}
		e.Salary, e.LastRaise = e.Salary+by, id
		changed, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = staff.UpdateEntity(ctx, changed, &aztables.UpdateEntityOptions{IfMatch: &stored.ETag, UpdateMode: aztables.UpdateModeReplace})
		var refused *azcore.ResponseError
		if errors.As(err, &refused) && refused.ErrorCode == "UpdateConditionNotSatisfied" {
			continue // the row has changed since it was read
		}
		return err
	}
}

// tutorial:end

// tutorial:first
// newStaff makes a table with one employee.
func newStaff(t *testing.T, s *storagetest.Service) *aztables.Client {
	staff := s.Tables().NewClient("staff")
	if _, err := staff.CreateTable(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := staff.AddEntity(t.Context(), []byte(`{"PartitionKey":"Sales","RowKey":"Jones","Salary":100}`), nil); err != nil {
		t.Fatal(err)
	}
	return staff
}

func TestRaise(t *testing.T) {
	s := storagetest.New(nil)
	staff := newStaff(t, s)
	s.Count() // the requests of the set-up do not count
	if err := raise(t.Context(), staff, "Jones", 10, "2014"); err != nil {
		t.Error(err)
	}
	if got := s.Rows("staff")[0].Get("Salary"); got != int32(110) {
		t.Errorf("got salary %v; want 110", got)
	}
	if got, want := s.Count().String(), "1 get, 1 replace"; got != want {
		t.Errorf("got requests %s; want %s", got, want)
	}
}

// tutorial:end

// tutorial:lost
func TestRaiseAfterLostResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // waiting takes no time
		s := storagetest.New(nil)
		staff := newStaff(t, s)
		s.SetFaults(storagetest.OfKind(requests.Replace, storagetest.Once(storagetest.LostResponse())))
		if err := raise(t.Context(), staff, "Jones", 10, "2014"); err != nil {
			t.Error(err)
		}
		if got := s.Rows("staff")[0].Get("Salary"); got != int32(110) {
			t.Errorf("got salary %v; want 110", got)
		}
	})
}

// tutorial:end

// tutorial:adverse
func TestRaiseOnAdverseService(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			s := storagetest.New(&storagetest.Options{Faults: storagetest.Adverse(storagetest.Adversity{Seed: seed})})
			staff := newStaff(t, s)
			for year := range 50 {
				if err := raise(t.Context(), staff, "Jones", 1, fmt.Sprint(year)); err != nil {
					t.Error(err)
				}
			}
			if got := s.Rows("staff")[0].Get("Salary"); got != int32(150) {
				t.Errorf("seed %d: got salary %v; want 150", seed, got)
			}
		})
	}
}

// tutorial:end

// tutorial:every
func TestRaiseUnderEveryFault(t *testing.T) {
	crashtest.Enumerate(t, raises, nil).Require(t)
}

// raises lets a process raise a salary. After a crash, the raise is ordered again.
func raises() crashtest.Workload {
	connect := func(p *crashtest.Process) (*aztables.Client, error) {
		o := &aztables.ClientOptions{}
		o.Transport = p
		c, err := aztables.NewServiceClientFromConnectionString(p.ConnectionString(), o)
		if err != nil {
			return nil, err
		}
		return c.NewClient("staff"), nil
	}
	process := func(id string) func(context.Context, *crashtest.Process) error {
		return func(ctx context.Context, p *crashtest.Process) error {
			staff, err := connect(p)
			if err != nil {
				return err
			}
			return raise(ctx, staff, "Jones", 10, id)
		}
	}
	return crashtest.Workload{
		Setup: func(ctx context.Context, p *crashtest.Process) error {
			staff, err := connect(p)
			if err != nil {
				return err
			}
			_, errCreate := staff.CreateTable(ctx, nil)
			_, errAdd := staff.AddEntity(ctx, []byte(`{"PartitionKey":"Sales","RowKey":"Jones","Salary":100}`), nil)
			return errors.Join(errCreate, errAdd)
		},
		Processes: []func(context.Context, *crashtest.Process) error{process("2014")},
		Drain:     process("2014"),
		Check: func(s *storagetest.Service) error {
			if got := s.Rows("staff")[0].Get("Salary"); got != int32(110) {
				return fmt.Errorf("got salary %v; want 110", got)
			}
			return nil
		},
	}
}

// tutorial:end

// TestTutorial: docs/storagetest.md contains the parts of this file.
func TestTutorial(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("tutorial_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/storagetest.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(source), "\n// tutorial:")
	if len(parts) < 6 {
		t.Fatalf("got %d parts of the tutorial; want more", len(parts))
	}
	for _, part := range parts[1:] {
		name, code, _ := strings.Cut(part, "\n")
		if name == "end" || strings.Contains(name, "\"") {
			continue
		}
		if !strings.Contains(string(page), "```go\n"+strings.TrimSpace(code)+"\n```") {
			t.Errorf("docs/storagetest.md: got no part %q as in tutorial_test.go", name)
		}
	}
}
