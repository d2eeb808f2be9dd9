package jobs_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// story is a run in which workers share a job of many short slices, while faults happen.
type story struct {
	mu     sync.Mutex
	seen   map[string]int
	finish error // why the job did not finish
}

const (
	storyDepartments = 4
	storyClerks      = 3 // of each
)

func (c *story) open(p *crashtest.Process) (*office, error) {
	acc, err := account.FromConnectionString(p.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: p}})
	if err != nil {
		return nil, err
	}
	var common table.Common
	options.SetNewID(&common, testkit.NewID(p))
	o := newOffice(acc, &common)
	o.page, o.took = 2, 600*time.Millisecond
	o.do = func(page []*table.Entity[clerk]) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, e := range page {
			c.seen[e.Key.String()]++
		}
		return nil
	}
	return o, o.store.Err()
}

func (c *story) opens(do func(ctx context.Context, p *crashtest.Process, o *office) error) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		o, err := c.open(p)
		if err != nil {
			return err
		}
		return do(ctx, p, o)
	}
}

// works executes what is due for a while.
func works(ctx context.Context, _ *crashtest.Process, o *office) (err error) {
	for range 6 {
		err = cmp.Or(err, o.store.Drain(ctx))
		time.Sleep(2 * time.Second)
	}
	return err
}

// starts cancels the job, and starts it again, at some moment.
func starts(ctx context.Context, p *crashtest.Process, o *office) error {
	time.Sleep(time.Duration(p.Rand().Int64N(int64(8 * time.Second))))
	err := o.raise.Cancel(ctx, o.staff, "1")
	time.Sleep(time.Duration(p.Rand().Int64N(int64(4 * time.Second))))
	return errors.Join(err, o.raise.Start(ctx, o.staff, "1", 1, nil))
}

// finishes does what is left: the workers of later, the work of a day, and a start for a job whose canceler has crashed.
func (c *story) finishes(ctx context.Context, _ *crashtest.Process, o *office) error {
	for range 20 {
		if err := errors.Join(testkit.WithoutFailures(o.store.Drain(ctx)), o.store.RunDaily(ctx)); err != nil {
			return err
		}
		status, err := o.raise.Status(ctx, o.staff, "1")
		if err != nil {
			return err
		}
		if status.State == jobs.Canceled {
			if err := o.raise.Start(ctx, o.staff, "1", 1, nil); err != nil {
				return err
			}
		}
		if status.State == jobs.Finished {
			c.finish = nil
			if status.Rows != storyDepartments*storyClerks || status.Open != 0 {
				c.finish = fmt.Errorf("got %+v; want %d rows", status, storyDepartments*storyClerks)
			}
			return nil
		}
		c.finish = fmt.Errorf("the job does not finish: %+v", status)
		time.Sleep(11 * time.Minute) // after which the work of a day takes a message for lost
	}
	return nil
}

func (c *story) check(*storagetest.Service) error {
	if len(c.seen) != storyDepartments*storyClerks {
		return fmt.Errorf("got %d clerks worked on, %v; want %d", len(c.seen), maps.Clone(c.seen), storyDepartments*storyClerks)
	}
	return c.finish
}

func newStory(processes ...func(ctx context.Context, p *crashtest.Process, o *office) error) func() crashtest.Workload {
	return func() crashtest.Workload {
		c := &story{seen: map[string]int{}}
		w := crashtest.Workload{Drain: c.opens(c.finishes), Check: c.check}
		w.Setup = c.opens(func(ctx context.Context, _ *crashtest.Process, o *office) error {
			return errors.Join(o.ensure(ctx, storyDepartments, storyClerks), o.raise.Start(ctx, o.staff, "1", 1, nil))
		})
		for _, do := range processes {
			w.Processes = append(w.Processes, c.opens(do))
		}
		return w
	}
}

var schedules = testkit.Count("schedules", 40, "schedules of workers of a job, of each of two tests")

func storyOptions(o crashtest.Options) *crashtest.Options {
	o.Timeout = 5 * time.Hour
	return testkit.Crash(o)
}

// TestEveryFault: a worker is killed at each request of its slices, and each request fails, is lost, or arrives late. Another worker finishes the job: each clerk
// was worked on, and is counted once.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	crashtest.Enumerate(t, newStory(works), storyOptions(crashtest.Options{PairLimit: -1, MaxLateness: 4, Sample: testkit.Sample(6)})).Require(t)
}

// TestSchedules: workers beside each other, and beside one who cancels the job and starts it again.
func TestSchedules(t *testing.T) {
	t.Parallel()
	crashtest.Schedules(t, newStory(works, works, starts), storyOptions(crashtest.Options{Runs: *schedules})).Require(t)
}

// TestTwoStarts: two programs cancel and start the job beside each other.
func TestTwoStarts(t *testing.T) {
	t.Parallel()
	crashtest.Schedules(t, newStory(works, works, starts, starts), storyOptions(crashtest.Options{Runs: *schedules})).Require(t)
}

// TestRefusedRequests: a request of the workers that is refused once, whichever it is, costs an
// attempt: the job is finished, with each clerk worked on and counted once.
func TestRefusedRequests(t *testing.T) {
	for kind, start := range map[string]func(ctx context.Context, o *office, name string) error{
		"rows": func(ctx context.Context, o *office, name string) error {
			err := o.raise.Start(ctx, o.staff, name, 1, &jobs.Options{Pass: table.Pass{Rate: 1000}})
			err = errors.Join(err, o.raise.Cancel(ctx, o.staff, name), o.store.Drain(ctx)) // no message is left of the first start
			return errors.Join(err, o.raise.Start(ctx, o.staff, name, 1, &jobs.Options{Pass: table.Pass{Rate: 1000}}))
		},
		"deletion": func(ctx context.Context, o *office, name string) error {
			for _, d := range []string{"dept000", "dept001"} { // where the job before has deleted them
				_, err := o.staff.Insert(ctx, &clerk{Dept: d, ID: 3, Last: "Name3"})
				if err != nil && !errors.Is(err, table.ErrExists) {
					return err
				}
			}
			return o.purge.Start(ctx, o.staff, name, "Name3", nil)
		},
		"verification": func(ctx context.Context, o *office, name string) error {
			in := &jobs.Options{Pass: table.Pass{Partitions: dept.Of("dept000").Point()}}
			return o.check.Start(ctx, o.staff, name, jobs.Verification{RecordsOnly: true}, in)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			inOffice(t, 2, 5, func(t *testing.T, ctx context.Context, s *storagetest.Service, o *office) {
				o.page, o.took = 2, 600*time.Millisecond
				for n, sent := 1, 1; sent >= n; n++ {
					name := fmt.Sprint(n)
					o.seen = map[string]int{}
					testkit.NoError(t, start(ctx, o, name))
					sent = 0
					s.SetFaults(func(r storagetest.Request) storagetest.Fault {
						if r.Table == "" {
							return storagetest.Fault{}
						}
						if sent++; sent == n {
							return storagetest.Refuse(403, "AuthorizationFailure")
						}
						return storagetest.Fault{}
					})
					for range 3 {
						if err := o.store.Drain(ctx); err != nil && !strings.Contains(err.Error(), "403") {
							t.Errorf("request %d refused: got error %v; want that of the request, or none", n, err)
						}
						time.Sleep(5 * time.Minute)
					}
					s.SetFaults(nil)
					status, err := o.raise.Status(ctx, o.staff, name)
					switch kind {
					case "deletion": // what a slice has deleted before it crashed is not counted
						status, err = o.purge.Status(ctx, o.staff, name)
						left, failed := o.staff.Count(ctx, table.Query[clerk]{TableScan: true, Where: last.Eq("Name3")})
						if failed != nil || left != 0 {
							t.Errorf("request %d refused: got %d clerks left, error %v; want none", n, left, failed)
						}
					case "verification":
						status, err = o.check.Status(ctx, o.staff, name)
						testkit.Expect(t, fmt.Sprintf("request %d refused: rows", n), status.Rows, 5)
					default:
						o.expectAll(t, 10)
						testkit.Expect(t, fmt.Sprintf("request %d refused: rows", n), status.Rows, 10)
					}
					if err != nil || status.State != jobs.Finished || status.Open != 0 {
						t.Errorf("request %d refused: got %+v, error %v; want a finished job", n, status, err)
					}
				}
			})
		})
	}
}
