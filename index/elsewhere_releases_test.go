package index_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestGlobalReleases: a table in use gets a unique value, and loses it again, while programs of two releases write.
func TestGlobalReleases(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newElsewhereScene(t, elsewhere{}, newLogin())
	filling := s.staff
	old, err := bare.NewTable(s.Tables(), "staff", schema, &table.Options{Common: quick().Common})
	check(t, err)
	insert := func(in *table.Table[worker], w worker) error { _, err := in.Insert(ctx, &w); return err }
	check(t, insert(old, worker{"S", 1, "A", "a", 44, nil}))
	check(t, insert(filling, worker{"M", 2, "B", "b", 44, nil}))
	check(t, insert(old, worker{"M", 3, "C", "c", 44, nil}))
	// The value of an entity of the old release is not known yet.
	if err := insert(filling, worker{"M", 4, "D", "b", 44, nil}); !errors.Is(err, table.ErrTaken) {
		t.Errorf("a value of the new release: got %v; want ErrTaken", err)
	}
	if err := old.MergeAny(ctx, keys.At(dept.PartitionKey("M"), wid.RowKey(2)), age.Set(45)); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("the old release writes an entity of the new one: got %v; want ErrUnknownMaintainer", err)
	}
	report, err := verify.Repair(ctx, filling, nil)
	if check(t, err); report.Changed != 2 || report.Faults > 0 {
		t.Errorf("fill: got %+v; want 2 repaired faults", report)
	}
	check(t, checkLogins(s.Service))

	byLogin := newLogin()
	reading, _, _, err := openElsewhere(accountOf(t, s.Service), quick(), byLogin)
	check(t, err)
	e, err := byLogin.Get(ctx, reading, "a")
	check(t, err)
	testkit.Expect(t, "the owner", e.Value.ID, 1)
	check(t, filling.MergeAny(ctx, e.Key, email.Set("x"))) // the release before still runs
	check(t, checkLogins(s.Service))

	// The way back: writers whose key function returns false give the values up, and then need no definition.
	without := index.NewUnique("login", keys.Fold(keys.Text()), func(*worker) (string, bool) { return "", false }, nil)
	leaving, _, _, err := openElsewhere(accountOf(t, s.Service), quick(), without)
	check(t, err)
	check(t, leaving.MergeAny(ctx, e.Key, age.Set(50)))
	check(t, reading.MergeAny(ctx, e.Key, age.Set(51))) // takes the value again
	_, err = verify.Repair(ctx, leaving, nil)
	check(t, err)
	for _, r := range s.Rows("stafflogin") {
		if r.RowKey[0] != '~' {
			t.Errorf("got the row %s; want none", r.RowKey)
		}
	}
	for id, d := range map[int]string{1: "S", 2: "M", 3: "M"} {
		check(t, old.MergeAny(ctx, keys.At(dept.PartitionKey(d), wid.RowKey(id)), age.Set(52)))
	}
}

// accountOf opens the account of a service for another program.
func accountOf(t testing.TB, s *storagetest.Service) *account.Account {
	t.Helper()
	acc, err := account.FromTransport(s, nil)
	check(t, err)
	return acc
}
