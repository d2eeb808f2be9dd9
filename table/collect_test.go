package table_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestCollect: Collect ends at the first error, and returns what came before it.
func TestCollect(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	numbers := func(n int, err error) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i, nil) {
					return
				}
			}
			if err != nil && !yield(-1, err) {
				return
			}
			if err != nil {
				t.Error("the list goes on after an error; want it to end")
			}
		}
	}
	for _, c := range []struct {
		list iter.Seq2[int, error]
		want string
		err  error
	}{
		{numbers(3, nil), "[]int{0, 1, 2}", nil}, {numbers(0, nil), "[]int(nil)", nil},
		{numbers(2, failed), "[]int{0, 1}", failed}, {numbers(0, failed), "[]int(nil)", failed},
	} {
		if got, err := table.Collect(c.list); fmt.Sprintf("%#v", got) != c.want || err != c.err {
			t.Errorf("got %#v, %v; want %s, %v", got, err, c.want, c.err)
		}
	}
}

// TestKeyOfValue: Key is the key under which Insert would store a value, or the error that Insert would return.
func TestKeyOfValue(t *testing.T) {
	t.Parallel()
	w := &fakeTransport{}
	s := sdkClient(t, w)
	staff := newStaff(t, s)
	if got, want := staff.Key(employee{Department: "Sales", ID: 223, Last: "Jones"}), keys.At(dept.PartitionKey("Sales"), empid.RowKey(223)); got != want {
		t.Errorf("got %v; want %v", got, want)
	}
	var ke *keys.KeyError
	if err := staff.Key(employee{Department: "Sales", ID: -1}).Err(); !errors.As(err, &ke) || ke.Key != "RowKey" {
		t.Errorf("got %v; want a *KeyError of the RowKey", err)
	}
	unbound, err := bare.NewTable(s, "staff", table.Schema[employee]{Partition: keys.Partition(dept, func(e *employee) *string { return &e.Department })}, nil)
	noError(t, err)
	if err := unbound.Key(employee{Department: "Sales", ID: 1}).Err(); !errors.As(err, &ke) || ke.Key != "RowKey" {
		t.Errorf("got %v; want a *KeyError of the RowKey, which is not bound", err)
	}
	rows, err := bare.NewTable(s, "staff", table.Schema[table.Row]{}, nil)
	noError(t, err)
	if k := employeeKey("Sales", 1); rows.Key(table.Row{Key: k}) != k {
		t.Errorf("got %v; want the row's own key, %v", rows.Key(table.Row{Key: k}), k)
	}
	if len(w.sent) != 0 {
		t.Errorf("got %d requests; want none", len(w.sent))
	}
}
