package blobarchive_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// result returns the condition of an error, such as "changed".
func result(err error) string {
	for name, is := range map[string]error{"changed": table.ErrChanged, "unknown": table.ErrUnknownOutcome, "foreign": table.ErrForeignRow} {
		if errors.Is(err, is) {
			return name
		}
	}
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, table.ErrUnreachable):
		return "unreachable"
	}
	return err.Error()
}

// lostThenForbidden returns a plan in which the first response to a Put is lost, and the others are refused.
func lostThenForbidden() storagetest.FaultFunc {
	n := 0
	return func(r storagetest.Request) storagetest.Fault {
		if r.Kind != kinds.BlobCreate {
			return storagetest.Fault{}
		}
		if n++; n == 1 {
			return storagetest.LostResponse()
		}
		return storagetest.Refuse(403, "AuthorizationFailure")
	}
}

// TestPutFaults: after each fault, Put reports what is stored, with the documented requests.
func TestPutFaults(t *testing.T) {
	t.Parallel()
	creating := func(f func() storagetest.Fault) func() storagetest.FaultFunc {
		return func() storagetest.FaultFunc { return storagetest.OfKind(kinds.BlobCreate, f()) }
	}
	for _, c := range []struct {
		name   string
		faults func() storagetest.FaultFunc // a new one for each run, because Once counts
		result string
		stored string // at once
		counts string
	}{
		{"response lost", creating(func() storagetest.Fault { return storagetest.Once(storagetest.LostResponse()) }), "done", "new", "2 blob-create, 1 blob-get"},
		{"executed, then refused", creating(func() storagetest.Fault {
			return storagetest.Once(storagetest.ExecuteThenRefuse(500, "OperationTimedOut"))
		}), "done", "new", "2 blob-create, 1 blob-get"},
		{"request lost", creating(func() storagetest.Fault { return storagetest.Once(storagetest.LostRequest()) }), "done", "new", "2 blob-create"},
		{"busy", creating(func() storagetest.Fault { return storagetest.Once(storagetest.Refuse(503, "ServerBusy")) }), "done", "new", "2 blob-create"},
		{"not sent", creating(func() storagetest.Fault { return storagetest.Once(storagetest.NotSent()) }), "done", "new", "2 blob-create"},
		{"twice", creating(func() storagetest.Fault { return storagetest.Once(storagetest.Twice()) }), "done", "new", "1 blob-create, 1 blob-get"},
		{"response lost twice", creating(func() storagetest.Fault { return storagetest.Times(2, storagetest.LostResponse()) }), "done", "new", "3 blob-create, 1 blob-get"},
		{"late", creating(func() storagetest.Fault { return storagetest.Once(storagetest.Late(0)) }), "done", "new", "2 blob-create"},
		{"all lost", creating(func() storagetest.Fault { return storagetest.LostRequest() }), "unknown", "old", "4 blob-create"},
		{"all responses lost", creating(func() storagetest.Fault { return storagetest.LostResponse() }), "unknown", "new", "4 blob-create"},
		{"none sent", creating(func() storagetest.Fault { return storagetest.NotSent() }), "unreachable", "old", "4 blob-create"},
		{"forbidden", creating(func() storagetest.Fault { return storagetest.Refuse(403, "AuthorizationFailure") }), "unreachable", "old", "1 blob-create"},
		{"response lost, then forbidden", lostThenForbidden, "unknown", "new", "2 blob-create"},
		{"response lost, and reads fail", func() storagetest.FaultFunc {
			return func(r storagetest.Request) storagetest.Fault {
				if r.Kind == kinds.BlobGet {
					return storagetest.Refuse(403, "AuthorizationFailure")
				}
				return storagetest.LostResponse()
			}
		}, "unknown", "new", ""},
		{"leased", creating(func() storagetest.Fault { return storagetest.Refuse(412, "LeaseIdMissing") }), "blobarchive: Put: the service answered 412 LeaseIdMissing", "old", "1 blob-create"},
	} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, first %t", c.name, first), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					fx := newFixture(t)
					id, version, stored := idOf("a", incarnation), "", c.stored
					if !first {
						fx.put(archived(t, id, "old"), "")
						_, version = fx.get(id)
					} else if stored == "old" {
						stored = "none"
					}
					fx.service.Count()
					fx.service.SetFaults(c.faults())
					if got := result(fx.Put(t.Context(), archived(t, id, "new"), version)); got != c.result {
						t.Errorf("got %s; want %s", got, c.result)
					}
					if got := fx.service.Count().String(); c.counts != "" && got != c.counts {
						t.Errorf("got %s; want %s", got, c.counts)
					}
					fx.service.SetFaults(nil)
					got, version := fx.get(id)
					expect(t, "stored", got, stored)
					fx.service.Deliver()
					if got, now := fx.get(id); c.name == "late" && (got != "new" || now != version) {
						t.Errorf("after the late request: got %s, version %s; want new, %s", got, now, version)
					}
				})
			})
		}
	}
}

// TestPutOvertaken: a concurrent writer replaces the row between a lost response and the next attempt.
func TestPutOvertaken(t *testing.T) {
	t.Parallel()
	for _, executed := range []bool{true, false} {
		fx := newFixture(t)
		id := idOf("a", incarnation)
		fx.put(archived(t, id, "old"), "")
		_, version := fx.get(id)
		puts := 0
		fx.service.SetFaults(func(r storagetest.Request) storagetest.Fault {
			if r.Kind != kinds.BlobCreate || puts > 0 {
				return storagetest.Fault{}
			}
			puts++
			if executed {
				return storagetest.LostResponse()
			}
			return storagetest.LostRequest()
		})
		o := &archive.Options{}
		o.Retry.Wait = -1
		overtaken := false
		c := blobsOf(fx.service, func(r *http.Request) {
			if puts == 1 && !overtaken {
				overtaken = true
				_, now := fx.get(id)
				fx.put(archived(t, id, "theirs"), now)
			}
		})
		d := destination(t, in{fx.service, c}, "old", o)
		if err := d.Put(t.Context(), archived(t, id, "new"), version); !errors.Is(err, table.ErrChanged) {
			t.Errorf("executed %t: got error %v; want ErrChanged", executed, err)
		}
		last, _ := fx.get(id)
		expect(t, "stored", last, "theirs")
	}
}

// outages are the ways in which a container is out of reach.
func outages() []storagetest.Fault {
	return []storagetest.Fault{
		storagetest.NotSent(), storagetest.LostRequest(), storagetest.LostResponse(), storagetest.Cut(10), storagetest.Truncate(10), storagetest.Hang(), storagetest.ExecuteThenHang(),
		storagetest.Refuse(302, ""), storagetest.Refuse(401, "InvalidAuthenticationInfo"), storagetest.Refuse(403, "AuthenticationFailed"), storagetest.Refuse(403, ""),
		storagetest.Refuse(404, "ContainerNotFound"), storagetest.Refuse(404, ""), storagetest.Refuse(409, "ContainerBeingDeleted"), storagetest.Refuse(407, ""), storagetest.Refuse(429, ""),
		storagetest.Refuse(500, "InternalError"), storagetest.Refuse(502, ""), storagetest.Refuse(503, "ServerBusy"),
	}
}

// TestOutages: each request of each method fails in each way, for ever. No row is taken for missing, foreign or changed.
func TestOutages(t *testing.T) {
	t.Parallel()
	for _, f := range outages() {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(t)
				id := idOf("a", incarnation)
				fx.put(archived(t, id, "old"), "")
				_, version := fx.get(id)
				fx.put(tombstone(idOf("gone", incarnation)), "")
				fx.service.Advance(time.Hour)
				first := func(all func(func(*archive.ArchivedRow, error) bool)) (err error) {
					for _, err = range all {
						break
					}
					return err
				}
				for name, method := range map[string]func(context.Context) error{
					"Get":          func(ctx context.Context) error { _, err := fx.Get(ctx, id); return err },
					"Put":          func(ctx context.Context) error { return fx.Put(ctx, archived(t, id, "new"), version) },
					"Incarnations": func(ctx context.Context) error { return first(fx.Incarnations(ctx, id.Key)) },
					"List":         func(ctx context.Context) error { return first(fx.List(ctx, keys.RawPartition("S"))) },
					"Sweep":        func(ctx context.Context) error { return fx.Sweep(ctx, keys.RawPartition("S"), fx.service.Now()) },
				} {
					for _, kind := range []requests.Kind{kinds.BlobGet, kinds.BlobCreate, kinds.BlobList, kinds.BlobDelete} {
						fx.service.SetFaults(nil)
						_, version = fx.get(id)
						fx.service.SetFaults(storagetest.OfKind(kind, f))
						fx.service.Count()
						err := method(t.Context())
						sent := fx.service.Count()[kind] > 0
						if got := result(err); sent && got != "unreachable" && got != "unknown" && !(got == "done" && harmless(kind, f)) || !sent && err != nil && name != "Put" {
							t.Errorf("%s, %s: got %v; want table.ErrUnreachable or ErrUnknownOutcome", name, kind, err)
						}
					}
				}
			})
		})
	}
}

// harmless reports whether a method can succeed although each request of a kind has a fault: a delete whose response is lost finds
// nothing to delete when it is repeated, and the body of a response to a write is empty.
func harmless(kind requests.Kind, f storagetest.Fault) bool {
	return kind == kinds.BlobDelete && (f == storagetest.LostResponse() || f == storagetest.ExecuteThenHang()) || (kind == kinds.BlobCreate || kind == kinds.BlobDelete) && (f == storagetest.Truncate(10) || f == storagetest.Cut(10))
}

// TestCutOnce: a response that is cut is read again.
func TestCutOnce(t *testing.T) {
	t.Parallel()
	fx := newFixture(t)
	id := idOf("a", incarnation)
	fx.put(archived(t, id, strings.Repeat("x", 1000)), "")
	for _, n := range []int{0, 1, 500, -1} {
		fx.service.SetFaults(storagetest.OfKind(kinds.BlobGet, storagetest.Once(storagetest.Cut(n))))
		fx.service.Count()
		last, _ := fx.get(id)
		if got := fx.service.Count().String(); last != strings.Repeat("x", 1000) || got != "2 blob-get" {
			t.Errorf("cut after %d bytes: got %d bytes, %s; want the row, 2 blob-get", n, len(last), got)
		}
	}
}

// TestNoContainer: without the container, workers wait.
func TestNoContainer(t *testing.T) {
	t.Parallel()
	d := destination(t, storagetest.New(nil), "none", nil)
	_, err := d.Get(t.Context(), idOf("a", incarnation))
	for _, err := range []error{err, d.Put(t.Context(), archived(t, idOf("a", incarnation), "x"), ""), d.Sweep(t.Context(), keys.RawPartition("S"), time.Now())} {
		if !errors.Is(err, table.ErrNotCreated) || !errors.Is(err, table.ErrUnreachable) {
			t.Errorf("got error %v; want ErrNotCreated and table.ErrUnreachable", err)
		}
	}
}

// TestPutEveryFault: a process puts a row, replaces it and removes it, through each fault at each request and each crash. What Put
// reports is true.
func TestPutEveryFault(t *testing.T) {
	t.Parallel()
	id := idOf("a", incarnation)
	workload := func() crashtest.Workload {
		reported := "none" // by Put
		possible := map[string]bool{"none": true}
		read := func(s *storagetest.Service) (string, string, error) {
			d := destination(t, s, "old", nil)
			r, err := d.Get(context.Background(), id)
			switch {
			case err != nil:
				return "", "", err
			case r == nil:
				return "none", "", nil
			case r.Row == nil:
				return "tombstone", r.Version, nil
			}
			v, _ := r.Row.Get("Last")
			return fmt.Sprint(v), r.Version, nil
		}
		return crashtest.Workload{
			Setup: func(ctx context.Context, p *crashtest.Process) error {
				_, err := p.Service().Blobs().NewContainerClient("old").Create(ctx, nil)
				return err
			},
			Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
				o := &archive.Options{}
				o.Retry.Wait, o.ReadTimeout = -1, 2*time.Minute // the slowest response takes a minute
				d := destination(t, in{p.Service(), blobsOf(p, nil)}, "old", o)
				for _, next := range []*archive.ArchivedRow{archived(t, id, "1"), archived(t, id, "2"), tombstone(id)} {
					stored, err := d.Get(ctx, id)
					if err != nil {
						return nil
					}
					version := ""
					if stored != nil {
						version = stored.Version
					}
					name := "tombstone"
					if next.Row != nil {
						v, _ := next.Row.Get("Last")
						name = fmt.Sprint(v)
					}
					possible[name] = true
					switch err := d.Put(ctx, next, version); {
					case err == nil:
						reported, possible = name, map[string]bool{name: true}
					case errors.Is(err, table.ErrChanged):
						return fmt.Errorf("Put of %s: %w; no other program writes", name, err)
					default:
						return nil
					}
				}
				return nil
			}},
			Check: func(s *storagetest.Service) error {
				s.SetFaults(nil)
				got, _, err := read(s)
				if err != nil {
					return err
				}
				if !possible[got] {
					return fmt.Errorf("got %s stored; want %s, as Put reported, or one of %v", got, reported, possible)
				}
				return nil
			},
		}
	}
	report := crashtest.Enumerate(t, workload, testkit.Crash(crashtest.Options{}))
	report.Require(t)
	t.Log(report)
}
