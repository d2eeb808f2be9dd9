package aztablekit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// advised is an error, what it says that the caller does, and that as calls, with the call that failed as the last one.
type advised struct {
	err    error
	advice string
	follow func() error
}

// TestAdvice follows the advice of errors to the letter: then the call that failed succeeds.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for name, situation := range map[string]func(*testing.T, *storagetest.Service) advised{
		"a table without a catalogue": func(t *testing.T, s *storagetest.Service) advised {
			older(t, s).ensure()
			deleteCatalogue(t, s)
			r := newer(t, s)
			return advised{r.insert(1), "call Store.Ensure", func() error { return errors.Join(r.store.Ensure(t.Context()), r.insert(1)) }}
		},
		"a table that does not exist": func(t *testing.T, s *storagetest.Service) advised {
			r := older(t, s)
			_, err := r.staff.Get(t.Context(), keys.At(dept.Of("Sales"), empid.Of(1)))
			return advised{err, "Store.Ensure creates it", func() error {
				err := errors.Join(r.store.Ensure(t.Context()), r.insert(1))
				_, errGet := r.staff.Get(t.Context(), keys.At(dept.Of("Sales"), empid.Of(1)))
				return errors.Join(err, errGet)
			}}
		},
		"an index that is not filled": func(t *testing.T, s *storagetest.Service) advised {
			r := filledLater(t, s)
			return advised{r.find(1), "call Store.Fill", func() error { r.fill(); return r.find(1) }}
		},
		"a catalogue that is damaged": func(t *testing.T, s *storagetest.Service) advised {
			filledLater(t, s).fill()
			setCatalogue(t, s, `,"Definitions":"damaged"`)
			r := newer(t, s)
			return advised{r.find(1), "delete it, call Store.Ensure, and then Store.Fill", func() error {
				deleteCatalogue(t, s)
				time.Sleep(minute) // by then, no program goes by what it has read before
				r.ensure()
				r.fill()
				return r.find(1)
			}}
		},
		"a program without an index, which gets it": func(t *testing.T, s *storagetest.Service) advised {
			filledLater(t, s).fill()
			return advised{older(t, s).insert(2), "declare it as the programs do that have it", func() error { return newer(t, s).insert(2) }}
		},
		"a program without an index, which the others retire": func(t *testing.T, s *storagetest.Service) advised {
			r := filledLater(t, s)
			r.fill()
			old := older(t, s)
			return advised{old.insert(2), "or retire it there (Store.Retire)", func() error {
				r.retire("email")
				r.retire("name")
				time.Sleep(minute)
				return old.insert(2)
			}}
		},
		"an index in another form": func(t *testing.T, s *storagetest.Service) advised {
			first := filledLater(t, s)
			first.fill()
			r := &release{t: t, store: aztablekit.Open(s, "company", nil), byName: first.byName}
			r.byEmail = index.NewUnique("email", keys.Ordered(), emailOf, nil)
			r.staff = aztablekit.Table(r.store, "staff", dept, empid, r.byEmail, r.byName)
			return advised{r.store.Ensure(t.Context()), "or retire the old one first (Store.Retire)", func() error {
				first.retire("email")
				r.ensure()
				r.fill()
				return r.find(1)
			}}
		},
		"a row of an index that another program has changed": func(t *testing.T, s *storagetest.Service) advised {
			r := filledLater(t, s)
			r.fill()
			row := rowOf(s, "name_")
			_, err := s.Tables().NewClient("staff").UpdateEntity(t.Context(), []byte(`{"PartitionKey":"Sales","RowKey":"`+row+`","_sys":1}`), nil)
			testkit.NoError(t, err)
			return advised{r.find(1), "delete the row, and verify.Repair writes it again", func() error {
				_, err := s.Tables().NewClient("staff").DeleteEntity(t.Context(), "Sales", row, nil)
				_, errVerify := verify.Repair(t.Context(), r.staff, nil)
				return errors.Join(err, errVerify, r.find(1))
			}}
		},
		"a row among the notes that is none": func(t *testing.T, s *storagetest.Service) advised {
			r := newer(t, s)
			r.ensure()
			work := s.Tables().NewClient("companywork")
			_, err := work.AddEntity(t.Context(), []byte(`{"PartitionKey":"1","RowKey":"x"}`), &aztables.AddEntityOptions{})
			testkit.NoError(t, err)
			return advised{r.store.RunDaily(t.Context()), "delete it", func() error {
				_, err := work.DeleteEntity(t.Context(), "1", "x", nil)
				return errors.Join(err, r.store.RunDaily(t.Context()))
			}}
		},
		"a job that runs": func(t *testing.T, s *storagetest.Service) advised {
			r, count := withJob(t, s)
			testkit.NoError(t, count.Start(t.Context(), r.staff, "today", 1, nil))
			return advised{count.Delete(t.Context(), r.staff, "today"), "cancel it first", func() error {
				return errors.Join(count.Cancel(t.Context(), r.staff, "today"), count.Delete(t.Context(), r.staff, "today"))
			}}
		},
		"a job with another argument": func(t *testing.T, s *storagetest.Service) advised {
			r, count := withJob(t, s)
			testkit.NoError(t, count.Start(t.Context(), r.staff, "today", 1, nil))
			return advised{count.Start(t.Context(), r.staff, "today", 2, nil), "choose another name", func() error { return count.Start(t.Context(), r.staff, "again", 2, nil) }}
		},
		"a fill by workers without a job": func(t *testing.T, s *storagetest.Service) advised {
			r := filledLater(t, s)
			_, err := r.store.Fill(t.Context(), &aztablekit.FillOptions{Workers: true})
			return advised{err, "give a jobs.Repair to its definitions", func() error {
				r := &release{t: t, store: aztablekit.Open(s, "company", nil), byEmail: r.byEmail, byName: r.byName}
				r.staff = aztablekit.Table(r.store, "staff", dept, empid, r.byEmail, r.byName, jobs.Repair[employee]("check"))
				r.ensure()
				stop := running(t, r.store)
				defer stop()
				_, err := r.store.Fill(t.Context(), &aztablekit.FillOptions{Workers: true})
				return errors.Join(err, r.find(1))
			}}
		},
		"a value that several entities have": func(t *testing.T, s *storagetest.Service) advised {
			store := aztablekit.Open(s, "company", nil)
			byName := index.New("name", keys.Text(), func(e *employee) (string, bool) { return "all", true }, nil)
			r := &release{t: t, store: store, staff: aztablekit.Table(store, "staff", dept, empid, byName)}
			r.ensure()
			testkit.NoError(t, errors.Join(r.insert(1), r.insert(2)))
			_, err := byName.Get(t.Context(), r.staff, dept.Of("Sales"), "all")
			return advised{err, "use List", func() error {
				n := 0
				for _, err := range byName.List(t.Context(), r.staff, dept.Of("Sales"), "all") {
					if err != nil {
						return err
					}
					n++
				}
				testkit.Expect(t, "entities of the list", n, 2)
				return nil
			}}
		},
		"a query without a partition": func(t *testing.T, s *storagetest.Service) advised {
			r := filledLater(t, s)
			count := func(q table.Query[employee]) error { _, err := r.staff.Count(t.Context(), q); return err }
			return advised{count(table.Query[employee]{}), "set Query.Partition, or Query.TableScan", func() error {
				return errors.Join(count(table.Query[employee]{Partition: dept.Of("Sales")}), count(table.Query[employee]{TableScan: true}))
			}}
		},
		"a value that was uploaded long ago": func(t *testing.T, s *storagetest.Service) advised {
			store := aztablekit.Open(s, "hotel", nil)
			photos := largeentity.In[guest]("photos", nil)
			guests := aztablekit.Table(store, "guests", house, guestName, photos)
			testkit.NoError(t, store.Ensure(t.Context()))
			upload := func() largeentity.Blob {
				photo, err := photos.Upload(t.Context(), guests, keys.At(house.Of("A"), guestName.Of("x")), strings.NewReader(strings.Repeat("x", 100_000)), "")
				testkit.NoError(t, err)
				return photo
			}
			insert := func(photo largeentity.Blob) error {
				_, err := guests.Insert(t.Context(), &guest{House: "A", Name: "x", Photo: photo})
				return err
			}
			photo := upload()
			time.Sleep(30 * 24 * time.Hour)
			return advised{insert(photo), "upload it again", func() error { return insert(upload()) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := situation(t, storagetest.New(nil))
				if is.err == nil || !strings.Contains(fmt.Sprint(is.err), is.advice) {
					t.Fatalf("got error %v; want one that says %q", is.err, is.advice)
				}
				testkit.NoError(t, is.follow())
			})
		})
	}
}

// filledLater returns a program with indexes on a table in use, which it has not filled.
func filledLater(t *testing.T, s *storagetest.Service) *release {
	old, r := older(t, s), newer(t, s)
	old.ensure()
	testkit.NoError(t, old.insert(1))
	r.ensure()
	return r
}

// withJob returns a program with a job that counts.
func withJob(t *testing.T, s *storagetest.Service) (*release, *jobs.Job[employee, int]) {
	count := jobs.Rows("count", func(int) table.Query[employee] { return table.Query[employee]{} },
		func(context.Context, *jobs.Slice[employee], []*table.Entity[employee], int) error { return nil })
	r := &release{t: t, store: aztablekit.Open(s, "company", nil)}
	r.staff = aztablekit.Table(r.store, "staff", dept, empid, count)
	r.ensure()
	testkit.NoError(t, r.insert(1))
	return r, count
}
