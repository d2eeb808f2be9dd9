package aztablekit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestLateRetire: a Retire that goes on when the definition was retired and filled again deletes none of the new rows.
func TestLateRetire(t *testing.T) {
	t.Parallel()
	for _, definition := range []string{"name", "email"} {
		t.Run(definition, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := storagetest.New(nil)
				late, r := newer(t, service), newer(t, service)
				late.ensure()
				for id := 1; id <= 2; id++ {
					late.expect("a write", late.insert(id), nil)
				}
				overtaken := false
				err := late.store.Retire(t.Context(), "staff", definition, &table.Pass{Progress: func(p table.Progress) {
					if p.Token == "" || overtaken {
						return
					}
					overtaken = true
					r.retire(definition)
					r.fill()
				}})
				if !errors.As(err, new(*errs.CatalogueError)) || !overtaken || strings.Count(err.Error(), "table staff") != 1 {
					t.Errorf("got %v; want a *CatalogueError", err)
				}
				for id := 1; id <= 2; id++ {
					r.expect("a look-up", r.find(id), nil)
				}
			})
		})
	}
}

// TestTokenOfFaults: no token passes over partitions with rows that could not be written.
func TestTokenOfFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		old, r := older(t, service), newer(t, service)
		old.ensure()
		for i := range 20 {
			for j := range 2 {
				_, err := old.staff.Insert(t.Context(), &employee{Department: fmt.Sprint("D", i+10), ID: j, Name: fmt.Sprint("Name", max(i, 1)*j)})
				old.expect("a write", err, nil)
			}
		}
		_, err := old.staff.Insert(t.Context(), &employee{Department: "D10", ID: 2, Name: "Name1"}) // as that of employee 1
		old.expect("a write", err, nil)
		r.ensure()
		token := ""
		_, err = r.store.Fill(t.Context(), &aztablekit.FillOptions{Pass: table.Pass{Progress: func(p table.Progress) { token = p.Token }}})
		r.expect("Fill", err, aztablekit.ErrUnfilled)
		_, err = r.store.Fill(t.Context(), &aztablekit.FillOptions{Pass: table.Pass{Token: token}})
		r.expect("Fill with the token", err, aztablekit.ErrUnfilled)
	})
}

// TestRefusedRead: a refusal to read the catalogue, such as of a signature that has ended, is an error, and nothing is known then.
func TestRefusedRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		old, r := inUse(t, service), newer(t, service)
		refuse := func(after int) {
			n := 0
			service.SetFaults(func(q storagetest.Request) storagetest.Fault {
				if q.PartitionKey != "~c" || q.Kind != requests.Get {
					return storagetest.Fault{}
				}
				if n++; n <= after {
					return storagetest.Fault{}
				}
				return storagetest.Refuse(403, "AuthenticationFailed")
			})
		}
		refuse(0)
		r.expect("Ensure", r.store.Ensure(t.Context()), table.ErrUnreachable)
		r.expect("a write", r.insert(2), table.ErrUnreachable)
		r.expect("a look-up", r.find(1), table.ErrUnreachable)
		service.SetFaults(nil)
		r.ensure()
		refuse(1)
		_, err := r.store.Fill(t.Context(), nil)
		r.expect("Fill", err, table.ErrUnreachable)
		service.SetFaults(nil)
		time.Sleep(minute)
		old.expect("a write of the older release", old.insert(3), table.ErrNotDeclared)
	})
}

// TestTypeNames: a release that only gives a type another name, so that its scope is another one, does not escape the catalogue.
func TestTypeNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		r := newer(t, service)
		r.ensure()
		r.expect("a write", r.insert(1), nil)
		was := rawCatalogue(t, service)
		other := &release{t: t, store: aztablekit.Open(service, "company", nil), byEmail: newUnique()}
		other.staff = aztablekit.Table(other.store, "staff", dept, empid, other.byEmail, &aztablekit.Settings[employee]{Schema: table.Schema[employee]{Type: "employee"}})
		other.expect("Ensure", other.store.Ensure(t.Context()), table.ErrNotDeclared)
		other.expect("a write", other.insert(2), table.ErrNotDeclared)
		if got := rawCatalogue(t, service); got != was {
			t.Errorf("got catalogue %s; want %s", got, was)
		}
		r.expect("a look-up", r.find(1), nil)
	})
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		old := older(t, service)
		old.ensure()
		named := &release{t: t, store: aztablekit.Open(service, "company", nil), byEmail: newUnique()}
		named.staff = aztablekit.Table(named.store, "staff", dept, empid, named.byEmail, &aztablekit.Settings[employee]{Schema: table.Schema[employee]{Type: "employee"}})
		named.ensure()
		named.fill()
		old.expect("a write without the name", old.insert(1), table.ErrNotDeclared)

		// Types that have names of their own share a range, and do not mind each other's definitions.
		others := aztablekit.Open(service, "company", nil)
		guest := aztablekit.Table(others, "staff", dept, empid, &aztablekit.Settings[employee]{Schema: table.Schema[employee]{Type: "guest"}})
		if err := others.Ensure(t.Context()); err != nil {
			t.Errorf("Ensure of another type: %v", err)
		}
		if _, err := guest.Insert(t.Context(), numbered(7)); err != nil {
			t.Errorf("a write of another type: %v", err)
		}
	})
}

// TestAttachToStore: an index that is attached to the handle of a store is none of the catalogue.
func TestAttachToStore(t *testing.T) {
	t.Parallel()
	old := older(t, storagetest.New(nil))
	old.ensure()
	extra := index.New("extra", keys.Text(), func(e *employee) (string, bool) { return e.Name, true }, &index.Options{Unique: true})
	staff, err := baretest.Attach(old.staff, extra)
	old.expect("Attach", err, nil)
	_, err = staff.Insert(t.Context(), numbered(1))
	old.expect("a write", err, nil)
	e, err := extra.Get(t.Context(), staff, dept.Of("Sales"), "Name1")
	if err != nil || e.Value.ID != 1 {
		t.Errorf("got %v, %v; want employee 1", e, err)
	}
}

// rangedStore opens a store by a signature for one partition.
func rangedStore(t *testing.T, service *storagetest.Service, o *aztablekit.Options) *aztablekit.Store {
	t.Helper()
	owner, err := account.FromConnectionString(service.ConnectionString(), nil)
	if err != nil {
		t.Fatal(err)
	}
	sas, err := owner.TableSAS(account.Grant{Table: "staff", Read: true, Add: true, Update: true, Delete: true, Partitions: dept.Of("Sales").Point(), Expiry: time.Now().Add(time.Hour), AllowHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	acc, err := account.FromSAS(account.Endpoints{Table: sas}, &account.Options{Client: azcore.ClientOptions{Transport: service}})
	if err != nil {
		t.Fatal(err)
	}
	return aztablekit.Open(acc, "company", o)
}

// TestRangedDaily: the work of a day by a signature for a range of keys leaves the catalogue alone, and Fill says that it needs another one.
func TestRangedDaily(t *testing.T) {
	t.Parallel()
	service := storagetest.New(nil)
	newer(t, service).ensure()
	r := &release{t: t, store: rangedStore(t, service, nil)}
	byName := index.New("name", keys.Text(), func(e *employee) (string, bool) { return e.Name, e.Name != "" }, &index.Options{Unique: true})
	r.staff = aztablekit.Table(r.store, "staff", dept, empid, byName)
	r.expect("RunDaily", r.store.RunDaily(t.Context()), nil)
	r.expect("a write", r.insert(1), nil)
	if _, err := byName.Get(t.Context(), r.staff, dept.Of("Sales"), "Name1"); err != nil {
		t.Errorf("a look-up: %v", err)
	}
	if _, err := r.store.Fill(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "whole table") {
		t.Errorf("Fill: got %v; want an error with the way out", err)
	}
}

// TestDoubtNearTheEnd: a write whose response is lost when its lease is about to end finds out that
// it was applied, also if the catalogue has changed meanwhile and gives no other lease.
func TestDoubtNearTheEnd(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			service := storagetest.New(nil)
			old := inUse(t, service)
			if changed {
				newer(t, service).ensure()
			}
			time.Sleep(58 * time.Second)
			service.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.ExecuteThenHang())))
			old.expect(fmt.Sprint("a write without a response, catalogue changed: ", changed), old.insert(2), nil)
		})
	}
}

// TestFaultsOfConfirmation: faults that the comparison of a day after Fill finds say so, and the definition stays readable.
func TestFaultsOfConfirmation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := storagetest.New(nil)
		inUse(t, service)
		r := newer(t, service)
		r.ensure()
		r.fill()
		late := `{"PartitionKey":"Sales","RowKey":"empid_000002","Name":"Name1","Email":"1@contoso.com","Salary":0}`
		if _, err := service.Tables().NewClient("staff").AddEntity(t.Context(), []byte(late), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Hour)
		err := r.store.RunDaily(t.Context())
		if err == nil || !strings.Contains(err.Error(), "a day after Fill") {
			t.Errorf("got %v; want an error of the comparison", err)
		}
		r.expect("a look-up", r.find(1), nil)
		var found int
		_, err = r.store.Verify(t.Context(), &verify.Options{Fault: func(verify.Fault) { found++ }})
		if err != nil || found == 0 {
			t.Errorf("Verify: got %d faults, %v; want some", found, err)
		}
	})
}
