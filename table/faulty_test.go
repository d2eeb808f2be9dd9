package table_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestEveryMethodReturnsTheFault: whatever a program calls on a handle that was declared wrong, it learns why, and nothing is sent. The
// methods are found by reflection, so that no later one is left out.
func TestEveryMethodReturnsTheFault(t *testing.T) {
	t.Parallel()
	fault := errors.New("definition email: its layout is nil")
	staff := door.Faulty[*table.Table[employee]]("staff", fault)
	key := keys.At(dept.PartitionKey("Sales"), empid.RowKey(223))
	arguments := map[reflect.Type]any{}
	for _, a := range []any{
		key, key.Partition(), key.Partition().Point(), employee{Department: "Sales"}, &employee{Department: "Sales"}, &table.Entity[employee]{Key: key, ETag: "1"}, &table.Row{Key: key},
		table.Query[employee]{Partition: key.Partition(), Where: table.FieldOf(func(e *employee) *int32 { return &e.Age }).Ge(40)}, table.ReplaceExisting, staff, "", 1,
		func(*employee) error { return nil },
		func(context.Context, keys.PartitionKey) error { return nil },
	} {
		arguments[reflect.TypeOf(a)] = a
	}
	without := []string{"Name", "Key", "Repaired", "Exact"} // they cannot fail
	handle := reflect.ValueOf(staff)
	for i := range handle.NumMethod() {
		name, method := handle.Type().Method(i).Name, handle.Method(i)
		if slices.Contains(without, name) {
			continue
		}
		var in []reflect.Value
		for at := range method.Type().NumIn() {
			typ := method.Type().In(at)
			last := method.Type().IsVariadic() && at == method.Type().NumIn()-1
			if last {
				typ = typ.Elem()
			}
			a, known := arguments[typ]
			switch {
			case typ == reflect.TypeFor[context.Context]():
				in = append(in, reflect.ValueOf(t.Context()))
			case known:
				in = append(in, reflect.ValueOf(a))
			case last:
			default:
				t.Fatalf("%s: the test has no argument of type %v", name, typ)
			}
		}
		out := method.Call(in)
		if err := resultError(t, out[len(out)-1]); !errors.Is(err, fault) || errors.Is(err, table.ErrUnreachable) {
			t.Errorf("%s: got %v; want the fault", name, err)
		}
	}
	good := newStaff(t, storagetest.New(nil).Tables())
	for what, err := range map[string]error{
		"move to":  good.MoveTo(t.Context(), staff, &table.Entity[employee]{Key: key, ETag: "1"}),
		"move":     staff.MoveTo(t.Context(), good, &table.Entity[employee]{Key: key, ETag: "1"}),
		"exact":    func() error { _, err := staff.Exact().Insert(t.Context(), &employee{}); return err }(),
		"transact": func() error { _, err := table.Transact(t.Context(), staff.InsertOp(&employee{})); return err }(),
		"view":     func() error { _, err := table.ViewOf[struct{ Age int32 }](staff); return err }(),
		"bulk":     func() error { _, err := table.BulkDelete(t.Context(), staff, table.Query[employee]{}, nil); return err }(),
	} {
		if !errors.Is(err, fault) {
			t.Errorf("%s: got %v; want the fault", what, err)
		}
	}
}

// resultError returns the error of a method's last result: an error, an operation with one, or a list that yields one.
func resultError(t *testing.T, result reflect.Value) error {
	t.Helper()
	switch r := result.Interface().(type) {
	case nil:
		return nil
	case error:
		return r
	case table.Op:
		return r.Err()
	}
	for _, err := range result.Seq2() {
		e, _ := err.Interface().(error)
		return e
	}
	return nil
}
