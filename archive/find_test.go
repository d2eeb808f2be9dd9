package archive_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestArchivedParts: a program whose type has no parts does not take an archived entity with parts for one that does not exist. A list
// continues after the entity.
func TestArchivedParts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	folders, indexed, mover, err := openFolders(fx)
	must(t, err)
	must(t, tabledoor.Ensure(ctx, folders))
	for id := range 3 {
		f := folder{Dept: "S", ID: id, Last: "Jones"}
		if id == 1 {
			f.Paper = make([]byte, 200_000)
		}
		e, err := indexed.Insert(ctx, &f)
		must(t, err)
		must(t, mover.Archive(ctx, e))
	}
	must(t, fx.workerOf(t, fx.options(), mover.Handler).Drain(ctx))

	narrow, err := bare.NewTable(s.Tables(), "folders", table.Schema[clerk]{
		Partition: keys.Partition(dept, func(c *clerk) *string { return &c.Dept }),
		Row:       keys.Row(cid, func(c *clerk) *int { return &c.ID }),
	}, &table.Options{Common: fx.common})
	must(t, err)
	narrowMover, err := workertest.NewMover("folders/old", narrow, fx.destination, fx.outbox)
	must(t, err)
	if _, archived, err := narrowMover.Find(ctx, at(1)); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("Find: got archived %v, error %v; want ErrUnknownParts", archived, err)
	}
	if _, err := narrowMover.Restore(ctx, at(1)); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("Restore: got error %v; want ErrUnknownParts", err)
	}
	if found, archived, err := narrowMover.Find(ctx, at(2)); err != nil || !archived || found.Value.Last != "Jones" {
		t.Errorf("Find of an entity without parts: got %v, archived %v, error %v; want Jones", found, archived, err)
	}
	var listed []string
	for e, err := range narrowMover.Archived(ctx, dept.PartitionKey("S")) {
		switch {
		case errors.Is(err, table.ErrNotDeclared):
			listed = append(listed, "unknown")
		case err != nil:
			t.Errorf("Archived: got error %v; want ErrUnknownParts", err)
		default:
			listed = append(listed, fmt.Sprint(e.Value.ID))
		}
	}
	testkit.Expect(t, "listed", fmt.Sprint(listed), "[0 unknown 2]")
	for range narrowMover.Archived(ctx, dept.PartitionKey("S")) {
		break // the list ends, and does not panic
	}
}

// notLister is a destination without the method List.
type notLister struct{ archive.Destination }

// TestFindErrors: Find, Archived, Restore and the sweep return the error of a refused request.
func TestFindErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, _ := newPendingMove(t)
	must(t, fx.work(ctx))
	withoutList, err := workertest.NewMover("x", fx.current, notLister{fx.destination}, fx.outbox)
	must(t, err)
	for e, err := range withoutList.Archived(ctx, dept.PartitionKey("S")) {
		if ve := new(table.ValueError); !errors.As(err, &ve) || ve.Field != "to" {
			t.Errorf("Archived: got %v, error %v; want a *table.ValueError of to", e, err)
		}
	}
	for name, op := range map[string]func() error{
		"Find": func() error { _, _, err := fx.mover.Find(ctx, at(1)); return err },
		"Find of nothing": func() error {
			if _, _, err := fx.mover.Find(ctx, at(9)); !errors.Is(err, table.ErrNotFound) {
				return err
			}
			return nil
		},
		"Contains": func() error { _, err := fx.mover.Contains(ctx, at(1), "0123456789ABCDEF"); return err },
		"Archived": func() error {
			for _, err := range fx.mover.Archived(ctx, dept.PartitionKey("S")) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Restore": func() error { _, err := fx.mover.Restore(ctx, at(1)); return err },
		"Sweep":   func() error { return fx.mover.Handler.Sweep(ctx, keys.RawPartition("S"), s.Now().Add(-25*time.Hour)) },
	} {
		refused := 0
		for n := 1; ; n++ {
			count := 0
			s.SetFaults(func(storagetest.Request) storagetest.Fault {
				if count++; count == n {
					return storagetest.Refuse(403, "AuthorizationFailure")
				}
				return storagetest.Fault{}
			})
			err := op()
			s.SetFaults(nil)
			if count < n {
				if err != nil {
					t.Errorf("%s: got error %v; want none", name, err)
				}
				break
			}
			refused++
			if name == "Restore" && n == 6 && err == nil {
				break // the last request shows the notification, which is visible later anyway
			}
			var re *azcore.ResponseError
			if !errors.As(err, &re) || re.StatusCode != 403 {
				t.Errorf("%s, request %d: got error %v; want an *azcore.ResponseError with status 403", name, n, err)
				break
			}
		}
		if refused == 0 {
			t.Errorf("%s: got no request, want some", name)
		}
	}
}
