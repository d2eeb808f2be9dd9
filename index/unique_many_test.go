package index_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestGetMany: the entities of several values come in the order of the values, by 2 requests for each, 10 values at a time. A value
// that no entity has is reported, and the list goes on.
func TestGetMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		slow := &testkit.Hooked{Service: storagetest.New(nil)}
		acc, err := account.FromTransport(slow, nil)
		check(t, err)
		byLogin := newLogin()
		o := quick()
		options.SetNow(&o.Common, slow.Now)
		staff, _, queues, err := openElsewhere(acc, o, byLogin)
		check(t, err)
		check(t, errors.Join(tabledoor.Ensure(ctx, staff), baretest.Ensure(ctx, staff), queues.Ensure(ctx)))
		var values []string
		for i := range 20 {
			mail := fmt.Sprint("mail", 20-i)
			_, err := staff.Insert(ctx, &worker{"S", i, "Jones", mail, 44, nil})
			check(t, err)
			values = append(values, strings.ToUpper(mail))
		}
		values[3] = "none"
		slow.Count()
		slow.BeforeRequest = func(*http.Request) { <-time.After(time.Second) }
		began, i := time.Now(), 0
		for e, err := range byLogin.GetMany(ctx, staff, values...) {
			switch {
			case i == 3 && errors.Is(err, table.ErrNotFound) && e == nil:
			case i == 3 || err != nil || e.Value.ID != i:
				t.Errorf("%s: got %v, error %v; want worker %d, and no worker 3", values[i], e, err, i)
			}
			i++
		}
		testkit.Expect(t, "values", i, 20)
		testkit.Expect(t, "requests", slow.Count().String(), "39 get")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("got %v for 2 rounds of 10 values, 2 s each; want no more than 5s", took)
		}
	})
}

// TestGetManyRefused: an invalid value, and a definition that the table does not have, end the list before any request.
func TestGetManyRefused(t *testing.T) {
	t.Parallel()
	byLogin := newLogin()
	s := newElsewhereScene(t, elsewhere{}, byLogin)
	var ke *keys.KeyError
	if err := onlyError(t, "a value that is too long", byLogin.GetMany(context.Background(), s.staff, "a", strings.Repeat("x", 2000))); !errors.As(err, &ke) {
		t.Errorf("a value that is too long: got %v; want a *keys.KeyError", err)
	}
	var zero index.Unique[worker, string]
	var de *table.DefinitionError
	for what, u := range map[string]*index.Unique[worker, string]{"another definition": newLogin(), "a zero one": &zero, "none": nil} {
		if err := onlyError(t, what, u.GetMany(context.Background(), s.staff, "a")); !errors.As(err, &de) {
			t.Errorf("%s: got %v; want a *DefinitionError", what, err)
		}
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
}
