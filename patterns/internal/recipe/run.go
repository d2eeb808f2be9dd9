package recipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/requests"
)

// Run is what the catalogue gives to a recipe: clients, names of tables and queues that no other
// recipe uses, and a report. A recipe does all other work with the library's public packages, so a
// copy only needs its lines with Run replaced.
type Run struct {
	service    *Service
	prefix     string // of the names of tables, queues and containers
	tables     []string
	queues     []string
	containers []string
	randomIDs  map[string]string // how the report shows the IDs that differ from run to run
	report     Report
	answers    io.Writer // of a child process, which has no report
}

// Tables returns the SDK's client of the Table service.
func (r *Run) Tables() *aztables.ServiceClient { return r.service.Account.Tables() }

// Account returns the account.
func (r *Run) Account() *account.Account { return r.service.Account }

// Counter returns the counter of the requests that the report shows. A recipe gives it to the
// clients that it makes.
func (r *Run) Counter() *requests.Counter { return &r.service.counter }

// Emulated reports whether the service is an emulator, which accepts requests without encryption.
func (r *Run) Emulated() bool { return r.service.Emulated }

// Prefix is before the names of the tables, queues and containers of this run.
func (r *Run) Prefix() string { return r.prefix }

// Open returns the account, for a program with further policies.
func (r *Run) Open(more ...policy.Policy) (*account.Account, error) { return r.service.open(more...) }

// TableName returns the name in the account for a table of this run. The table is deleted after the
// run.
func (r *Run) TableName(name string) string {
	full := r.prefix + name
	if !slices.Contains(r.tables, full) {
		r.tables = append(r.tables, full)
	}
	return full
}

// QueueName returns the name in the account for a queue of this run. The queue is deleted after the
// run.
func (r *Run) QueueName(name string) string {
	full := r.prefix + name
	if !slices.Contains(r.queues, full) {
		r.queues = append(r.queues, full)
	}
	return full
}

// StoreName returns a name for a store of this run. Its queues and the table of its work are
// deleted after the run.
func (r *Run) StoreName(name string) string {
	for _, purpose := range []string{"-writes", "-poison"} {
		r.QueueName(name + purpose)
	}
	r.TableName(strings.ReplaceAll(name, "-", "") + "work")
	return r.prefix + name
}

// StoreOptions returns the options of a store of this name, whose tables and queues have the prefix
// of this run. They are deleted after the run, with the tables that are named.
func (r *Run) StoreOptions(name string, tables ...string) *aztablekit.Options {
	r.StoreName(name)
	for _, t := range tables {
		r.TableName(t)
	}
	return &aztablekit.Options{Prefix: r.prefix, Worker: eventual.WorkerOptions{Concurrency: 1}}
}

// Ensure calls Ensure of a store twice, as a program does that starts again: the second call reads
// the catalogues of its tables, and for a minute no step does.
func (r *Run) Ensure(ctx context.Context, s interface{ Ensure(context.Context) error }) error {
	if err := s.Ensure(ctx); err != nil {
		return err
	}
	return s.Ensure(ctx)
}

// Table returns the SDK's client of a table of this run, for what a program does that does not use
// the library.
func (r *Run) Table(name string) *aztables.Client {
	return r.service.Account.Tables().NewClient(r.TableName(name))
}

// Queue returns the client of a queue of this run.
func (r *Run) Queue(name string) *azqueue.QueueClient {
	return r.service.Account.Queues().NewQueueClient(r.QueueName(name))
}

// ContainerName returns the name in the account for a blob container of this run. The container is
// deleted after the run.
func (r *Run) ContainerName(name string) string {
	full := r.prefix + name
	if !slices.Contains(r.containers, full) {
		r.containers = append(r.containers, full)
	}
	return full
}

// cleanUp deletes the tables, queues and containers of the run, also if ctx has ended.
func (r *Run) cleanUp(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	for _, name := range r.tables {
		if _, failed := r.service.Account.Tables().DeleteTable(ctx, name, nil); failed != nil {
			var response *azcore.ResponseError
			if errors.As(failed, &response) && response.StatusCode == 404 {
				continue // the recipe failed before it created the table
			}
			err = errors.Join(err, fmt.Errorf("table %s was not deleted: %w", name, failed))
		}
	}
	for _, name := range r.queues {
		if _, failed := r.service.Account.Queues().NewQueueClient(name).Delete(ctx, nil); failed != nil && !queueerror.HasCode(failed, queueerror.QueueNotFound) {
			err = errors.Join(err, fmt.Errorf("queue %s was not deleted: %w", name, failed))
		}
	}
	for _, name := range r.containers {
		if _, failed := r.service.Account.Blobs().NewContainerClient(name).Delete(ctx, nil); failed != nil && !bloberror.HasCode(failed, bloberror.ContainerNotFound) {
			err = errors.Join(err, fmt.Errorf("container %s was not deleted: %w", name, failed))
		}
	}
	return err
}
