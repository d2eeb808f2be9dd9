package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestMoveRow: a row of any type moves with all of its properties, and then has its new key.
func TestMoveRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rows := residentRows(t, &testkit.Hooked{Service: storagetest.New(nil)})
	noError(t, tabledoor.Ensure(ctx, rows))
	e, err := rows.Insert(ctx, residentRow(t, "a", map[string]any{"X": 1}))
	noError(t, err)
	to := keys.Raw(e.Key.PartitionKey(), "b")
	e.Value.Key = to
	noError(t, rows.Move(ctx, e))
	if e.Key != to || e.Value.Key != to {
		t.Errorf("got %+v; want e.Key == %+v and e.Value.Key == %+v", e, to, to)
	}
	noError(t, e.Value.Set("X", 2))
	noError(t, rows.Replace(ctx, e))
	got, err := rows.Get(ctx, to)
	noError(t, err)
	if x, _ := got.Value.Get("X"); x != int64(2) {
		t.Errorf("got %+v; want x == int64(2)", got)
	}
}

// TestMoveInsideRefuses: a refused Move changes neither the row nor the entity.
func TestMoveInsideRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := noRequests(t)
	staff := newStaff(t, sdkClient(t, w))
	move := func(change func(*table.Entity[employee])) error {
		e := readEmployee(t, staff, w)
		change(e)
		return staff.Move(ctx, e)
	}
	var ke *keys.KeyError
	var be *table.BatchError
	for what, c := range map[string]struct {
		err error
		is  error
	}{
		"no ETag":  {move(func(e *table.Entity[employee]) { e.Value.ID, e.ETag = 7, "" }), table.ErrNotRead},
		"not read": {staff.Move(ctx, &table.Entity[employee]{Value: employee{"Sales", 7, "x", 1}, Key: employeeKey("Sales", 1), ETag: etag}), table.ErrNotRead},
	} {
		if !errors.Is(c.err, c.is) {
			t.Errorf("%s: got %v; want c.err to be %v", what, c.err, c.is)
		}
	}
	if err := move(func(e *table.Entity[employee]) { e.Value.ID = -1 }); !errors.As(err, &ke) {
		t.Errorf("got %v; want a *keys.KeyError", err)
	}
	if err := staff.Move(ctx, nil); err == nil {
		t.Error("got no error for nil; want one")
	}
	for response, want := range map[string]error{
		batchBody(failedPart(409, "EntityAlreadyExists", "1:x")):         table.ErrExists,
		batchBody(failedPart(412, "UpdateConditionNotSatisfied", "0:x")): table.ErrChanged,
		batchBody(failedPart(500, "InternalError", "0:x")):               table.ErrUnknownOutcome,
	} {
		w := batchService(response)
		staff := newStaff(t, sdkClient(t, w))
		e := readEmployee(t, staff, w)
		e.Value.ID = 7
		err := staff.Move(ctx, e)
		var oe *table.OpError
		if !errors.Is(err, want) || e.Key != employeeKey("Sales", 223) || string(e.ETag) != etag || !errors.As(err, &oe) || oe.Op != "Move" {
			t.Errorf(`got %v, %+v; want %v and e.Key == employeeKey("Sales", 223) and string(e.ETag) == etag and a *OpError and oe.Op == "Move"`, err, e, want)
		}
		if errors.As(err, &be) {
			t.Errorf("got %v; want no *BatchError, as of a move to another partition", err)
		}
		if want == table.ErrUnknownOutcome && oe.Key != employeeKey("Sales", 223) {
			t.Errorf(`got key %v in the unknown outcome; want that of the entity`, oe.Key)
		}
		if parts := sentParts(w); len(parts) != 2 || !strings.HasPrefix(parts[0].line, "DELETE ") || !strings.HasPrefix(parts[1].line, "POST ") || parts[0].match != etag {
			t.Errorf(`got %+v; want len(parts) == 2 and strings.HasPrefix(parts[0].line, "DELETE ") and strings.HasPrefix(parts[1].line, "POST ") and parts[0].match == etag`, parts)
		}
		w.respond = func(*http.Request, string) (*http.Response, error) { return noContent(), nil }
		if again := staff.Delete(ctx, e); errors.Is(again, table.ErrUnknownOutcome) != (want == table.ErrUnknownOutcome) {
			t.Errorf("Delete afterwards: got %v; want errors.Is(again, table.ErrUnknownOutcome) == %v", again, want == table.ErrUnknownOutcome)
		}
	}
}

// TestKeyErrorsNameTheWayOut: a changed key names the method that moves the row.
func TestKeyErrorsNameTheWayOut(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, e, _ := staffInMemory(t, nil)
	e.Value.Department = "Marketing"
	for method, err := range map[string]error{"Replace": staff.Replace(ctx, e), "Move": staff.Move(ctx, e)} {
		if !strings.Contains(err.Error(), "Move") {
			t.Errorf("%s: got error %q; want one that names Move", method, err)
		}
	}
}
