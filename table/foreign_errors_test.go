package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/table"
)

// TestForeignErrors: an error that a maintainer or an outbox returns from its own writes says nothing about the outcome of the
// write.
func TestForeignErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	unknown := &table.OpError{Op: "Insert", Err: table.ErrUnknownOutcome}
	d := &memoryOutbox{}
	people, s := townWithEffects(t, d)
	e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
	d.notifyErr = unknown
	e.Value.Last = "X"
	if err := people.Replace(ctx, e); !errors.Is(err, table.ErrOutbox) || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("got %v; want ErrOutbox and not ErrUnknownOutcome", err)
	}
	d.notifyErr = nil
	var fails error = unknown
	asking, err := bare.With(people, failsWith{&fails})
	noError(t, err)
	if err := asking.Replace(ctx, e); errors.Is(err, table.ErrUnknownOutcome) || !strings.Contains(err.Error(), "maintainer failing: ") {
		t.Errorf(`got %v; want not ErrUnknownOutcome and "maintainer failing: " in the error`, err)
	}
	fails = table.ErrChanged // of another row, so Update does not repeat its function
	s.Count()
	if _, err := asking.Update(ctx, e.Key, func(v *resident) error { v.Last = "Y"; return nil }); !errors.Is(err, table.ErrChanged) || s.Count().String() != "1 get" {
		t.Errorf(`got %v; want ErrChanged and s.Count().String() == "1 get"`, err)
	}
	if err := people.Replace(ctx, e); err != nil {
		t.Errorf("a write of the same entity: got %v; want no error", err)
	}
}

// failsWith is a maintainer that returns an error.
type failsWith struct{ err *error }

func (failsWith) Name() string { return "failing" }
func (failsWith) MaxRows() int { return 0 }
func (a failsWith) Maintain(context.Context, *extend.Plan, *extend.Change[resident]) error {
	return *a.err
}

// TestNestedForeignErrors: TestForeignErrors for a maintainer whose own table has maintainers.
func TestNestedForeignErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := newTown(t, nil)
	base := peopleOf(t, s, nil)
	e := insertAll(t, base, s, resident{"S", 1, "Jones", "a"})[0]
	fails := errors.Join(&table.DerivedError{Maintainer: "another", Err: table.ErrChanged}, table.ErrUnknownOutcome)
	people, err := bare.With(base, failsWith{&fails})
	noError(t, err)
	var de *table.DerivedError
	if err := people.Replace(ctx, e); errors.Is(err, table.ErrUnknownOutcome) || !errors.As(err, &de) || de.Maintainer != "failing" {
		t.Errorf(`got %v; want not ErrUnknownOutcome and a *DerivedError and de.Maintainer == "failing"`, err)
	}
	if err := base.Replace(ctx, e); err != nil {
		t.Errorf("a write of the same entity: got %v; want no error", err)
	}
	// A failed request of the maintainer is not a failed request of the table.
	_, fails = base.Get(ctx, residentAt(7))
	var oe *table.OpError
	if err := people.Replace(ctx, e); !errors.As(err, &oe) || oe.Code != "" || !strings.Contains(err.Error(), "p_000007") {
		t.Errorf(`got %v; want a *OpError and oe.Code == "" and "p_000007" in the error`, err)
	}
}
