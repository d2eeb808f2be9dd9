package stored

import (
	"slices"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
)

// TestOwners: a row has tags, an owner, or the entity that it is a copy of.
func TestOwners(t *testing.T) {
	t.Parallel()
	row := &Row{Key: keys.Raw("p", "r")}
	tagged := row.Tag("manager", false)
	if got := tagged.Tags(); !slices.Equal(got, []string{"manager"}) || len(row.Tags()) > 0 {
		t.Errorf("got tags %q, and before %q; want manager, and none", got, row.Tags())
	}
	if got := tagged.Tag("manager", true); len(got.Columns()) > 0 {
		t.Errorf("got %v, want no property", got.Columns())
	}
	if got := tagged.Own("team:x"); got.Owner() != "team:x" || len(got.Tags()) > 0 {
		t.Errorf("got owner %q and tags %q, want team:x and none", got.Owner(), got.Tags())
	}
	c := row.Copy(keys.Raw("p", "c"), "id")
	if k, is := c.Primary(); !is || k != row.Key || c.ProjectionID() != "id" || c.Owner() != "" {
		t.Errorf("got a copy: %v, of %v, %q, %q; want one of %v, id", is, k, c.ProjectionID(), c.Owner(), row.Key)
	}
	if again, full := row.Copy(keys.Raw("p", "d"), "id"), row.Copy(keys.Raw("p", "e"), ""); again.ProjectionID() != "id" || full.ProjectionID() != "" {
		t.Errorf("got projections %q and %q; want id and none", again.ProjectionID(), full.ProjectionID())
	}
}
