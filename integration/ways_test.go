package integration

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/requests"
)

// TestWays: the clients of package integration take the paths that their names say. A policy in front of a client's sees the key of
// a request on the plain path, and the call that the library's requests replace on the other. Large texts that are not ASCII arrive on
// all of them, also at the emulator, which corrupts such texts without the policy of its clients.
func TestWays(t *testing.T) {
	t.Parallel()
	for _, b := range ways {
		var front lastRequest
		service, err := tablesOf(b, new(requests.Counter), nil, &front)
		if err != nil {
			t.Fatal(err)
		}
		staff, err := bare.NewTable(service, freshName(), staffSchema, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := tabledoor.Ensure(context.Background(), staff); err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("äöü€", 7<<10)
		for i := range 4 { // the first call of a client finds out which path it takes
			if _, err = staff.Insert(context.Background(), &employee{"Sales", i, long, long, 44, long}); err != nil {
				t.Fatal(err)
			}
			e, err := staff.Get(context.Background(), at("Sales", i))
			if err != nil {
				t.Fatal(err)
			}
			if e.Value.First != long || e.Value.Last != long || e.Value.Email != long {
				t.Errorf("%s: the texts of employee %d differ from those that were stored", b.Name(), i)
			}
		}
		if _, want := b.(plain); strings.Contains(front.text, "Sales") != want {
			t.Errorf("%s: got the request %s in front of the client's policies; want the key in it: %v", b.Name(), front.text, want)
		}
	}
}

// lastRequest is a policy that keeps the last request.
type lastRequest struct{ text string }

// Do implements policy.Policy.
func (l *lastRequest) Do(r *policy.Request) (*http.Response, error) {
	l.text = r.Raw().Method + " " + r.Raw().URL.Path
	return r.Next()
}
