package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// overtaking is what another program does while resident 1 moves from S to M.
type overtaking struct {
	name    string
	do      func(context.Context, *table.Table[resident]) error
	refusal error // of a move that comes later, about another row than the old one; nil if the other program writes the old row
	leaves  bool  // the resident is not under the old key any more
}

func moveResident(ctx context.Context, people *table.Table[resident], from keys.Key, change func(*resident)) error {
	e, err := people.Get(ctx, from)
	if err != nil {
		return err
	}
	change(&e.Value)
	return people.Move(ctx, e)
}

func overtakings(to func(*resident), occupant resident) []overtaking {
	return []overtaking{
		{name: "moves it to the same place", leaves: true, do: func(ctx context.Context, people *table.Table[resident]) error {
			return moveResident(ctx, people, residentAt(1), to)
		}},
		{name: "moves it elsewhere", leaves: true, do: func(ctx context.Context, people *table.Table[resident]) error {
			return moveResident(ctx, people, residentAt(1), func(r *resident) { r.Dept = "X" })
		}},
		{name: "moves it within the partition", leaves: true, do: func(ctx context.Context, people *table.Table[resident]) error {
			return moveResident(ctx, people, residentAt(1), func(r *resident) { r.ID = 9 })
		}},
		{name: "moves it there and back", do: func(ctx context.Context, people *table.Table[resident]) error {
			if err := moveResident(ctx, people, residentAt(1), func(r *resident) { r.Dept = "X" }); err != nil {
				return err
			}
			return moveResident(ctx, people, keys.At(dept.PartitionKey("X"), residentID.Of(1)), func(r *resident) { r.Dept = "S" })
		}},
		{name: "changes it", do: func(ctx context.Context, people *table.Table[resident]) error {
			return people.MergeAny(ctx, residentAt(1), eMail.Set("n"))
		}},
		{name: "deletes it", leaves: true, do: func(ctx context.Context, people *table.Table[resident]) error {
			return people.DeleteAny(ctx, residentAt(1))
		}},
		{name: "takes the place", refusal: table.ErrExists, do: func(ctx context.Context, people *table.Table[resident]) error {
			_, err := people.Insert(ctx, &occupant)
			return err
		}},
		{name: "takes the address", refusal: errTaken, do: func(ctx context.Context, people *table.Table[resident]) error {
			_, err := people.Insert(ctx, &resident{occupant.Dept, 7, "Other", "a"})
			return err
		}},
	}
}

// eachOvertaking moves resident 1 to another partition, and within its own, and lets another program do each thing before each request.
func eachOvertaking(t *testing.T, move func(context.Context, *table.Table[resident], func(*resident)) error, check func(what string, at int, o overtaking, moved, other error)) {
	t.Helper()
	runs := 0
	for place, to := range map[resident]func(*resident){
		{"M", 1, "Other", "z"}: func(r *resident) { r.Dept = "M" },
		{"S", 8, "Other", "z"}: func(r *resident) { r.ID = 8 },
	} {
		for _, o := range overtakings(to, place) {
			for at, called := 1, true; called; at++ {
				_, s, _ := movingTown(t)
				people, own := townProgram(t, s.Service, nil)
				other, _ := townProgram(t, s.Service, nil)
				var n int
				var done error
				called = false
				own.Serial = true // the rows of a preparation are read together
				own.BeforeRequest = func(*http.Request) {
					if n++; n == at {
						called = true
						done = o.do(context.Background(), other)
					}
				}
				moved := move(context.Background(), people, to)
				if called {
					check(fmt.Sprintf("to %s: before request %d another program %s", place.Dept, at, o.name), at, o, moved, done)
					runs++
				}
			}
		}
	}
	t.Log(runs, "runs")
}

// TestMoveOvertaken: whatever refuses a move, its error is ErrChanged if another program has written the entity first, and only then.
func TestMoveOvertaken(t *testing.T) {
	t.Parallel()
	move := func(ctx context.Context, people *table.Table[resident], to func(*resident)) error {
		return moveResident(ctx, people, residentAt(1), to)
	}
	eachOvertaking(t, move, func(what string, at int, o overtaking, moved, other error) {
		switch {
		case moved == nil:
		case at == 1 && o.leaves && errors.Is(moved, table.ErrNotFound): // before it was read
		case other != nil:
			t.Errorf("%s: both are refused: %v; %v", what, moved, other)
		case o.refusal == nil && (!errors.Is(moved, table.ErrChanged) || errors.Is(moved, table.ErrExists)):
			t.Errorf("%s: got %v; want %v alone", what, moved, table.ErrChanged)
		case o.refusal != nil && (!errors.Is(moved, o.refusal) || errors.Is(moved, table.ErrChanged)):
			t.Errorf("%s: got %v; want %v", what, moved, o.refusal)
		}
	})
}

// TestUpdateAndMove: another program that changes the entity first makes it change and move again. What ends it is what it finds then.
func TestUpdateAndMove(t *testing.T) {
	t.Parallel()
	move := func(ctx context.Context, people *table.Table[resident], to func(*resident)) error {
		e, err := people.UpdateAndMove(ctx, residentAt(1), func(r *resident) error { to(r); return nil })
		if err == nil {
			testkit.Expect(t, "key", e.Key, people.Key(e.Value))
			_, err = people.Get(ctx, e.Key)
		}
		return err
	}
	eachOvertaking(t, move, func(what string, at int, o overtaking, moved, other error) {
		switch {
		case other != nil && moved == nil, other == nil && !o.leaves && o.refusal == nil && moved == nil: // it came first, or again
		case other == nil && o.leaves && errors.Is(moved, table.ErrNotFound) && !errors.Is(moved, table.ErrChanged):
		case other == nil && o.refusal != nil && errors.Is(moved, o.refusal):
		default:
			t.Errorf("%s: got %v; of the other program %v", what, moved, other)
		}
	})
}

// TestUpdateAndMoveRequests: the requests of UpdateAndMove, and its errors.
func TestUpdateAndMoveRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s, _ := movingTown(t)
	update := func(what, want string, wantErr error, change func(*resident) error) {
		t.Helper()
		s.Count()
		_, err := people.UpdateAndMove(ctx, residentAt(1), change)
		if got := s.Count().String(); got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: got %s and %v; want %s and %v", what, got, err, want, wantErr)
		}
	}
	own := errors.New("own")
	update("an error of change", "1 get", own, func(*resident) error { return own })
	update("the same key", "1 get, 1 transaction", nil, func(r *resident) error { r.Email = "n"; return nil })
	// Of the reads, one is of the entity, one looks at the place, and the last looks whether the entity was changed meanwhile; the others are of lists.
	update("a taken place", "7 get, 1 insert, 2 transaction", table.ErrExists, func(r *resident) error { r.Dept, r.ID = "M", 3; return nil })
	update("within the partition", "2 get, 1 transaction", nil, func(r *resident) error { r.ID = 8; return nil })
	update("it is gone", "1 get", table.ErrNotFound, func(*resident) error { return nil })
}
