package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Colleague is an employee who is listed under the last name.
type Colleague struct {
	Department string
	ID         int
	LastName   string
}

// Renamed is the payload of an effect: the last names before and after a write. It says which lists to look at, and no more.
type Renamed struct{ Names []string }

// RenamedIn returns the last names that a write changes.
func RenamedIn(c *extend.Change[Colleague]) (p Renamed, due bool) {
	if c.Old != nil {
		p.Names = append(p.Names, c.Old.LastName)
	}
	if c.New != nil && !slices.Contains(p.Names, c.New.LastName) {
		p.Names = append(p.Names, c.New.LastName)
	}
	return p, c.Old == nil || c.New == nil || c.Old.LastName != c.New.LastName
}

// NameBlobs keeps a blob for each last name, with the keys of all employees who have the name.
type NameBlobs struct {
	Staff *table.Table[Colleague]
	Names *container.Client
}

// nameList is the blob of a name, as it was read.
type nameList struct {
	name    string
	members []string
	etag    azcore.ETag // "" if there is no blob
}

// Handle makes the blobs of the names follow an employee. The order of its steps is what makes it right, whatever is repeated or
// late: it reads the blobs, then the employee, and then writes each blob by its ETag, also if nothing seems to change. An empty list
// stays. From the types above to here, the code is what a user writes.
func (b *NameBlobs) Handle(ctx context.Context, j eventual.Job, p Renamed) error {
	pk, err := j.Partition.Result()
	if err != nil {
		return eventual.Poison(err)
	}
	employee := keys.Stored(pk, j.Effect.RowKey)
	for range 20 {
		var lists []*nameList
		for _, name := range p.Names {
			l, err := b.Read(ctx, name)
			if err != nil {
				return err
			}
			lists = append(lists, l)
		}
		e, err := b.Staff.Get(ctx, employee)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		changed := false
		for _, l := range lists {
			member := employee.PartitionKey() + "/" + employee.RowKey()
			l.members = slices.DeleteFunc(l.members, func(s string) bool { return s == member })
			if e != nil && e.Value.LastName == l.name {
				l.members = append(l.members, member)
				slices.Sort(l.members)
			}
			err := b.write(ctx, l)
			if bloberror.HasCode(err, bloberror.ConditionNotMet, bloberror.BlobAlreadyExists) {
				changed = true // a concurrent worker has written the blob
				break
			} else if err != nil {
				return err
			}
		}
		if !changed {
			return nil
		}
	}
	return fmt.Errorf("concurrent workers changed the lists of %v each time", employee)
}

// Read returns the list of a name.
func (b *NameBlobs) Read(ctx context.Context, name string) (*nameList, error) {
	l := &nameList{name: name}
	response, err := b.Names.NewBlobClient(name).DownloadStream(ctx, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound) {
		return l, nil
	} else if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	l.etag = *response.ETag
	return l, json.NewDecoder(response.Body).Decode(&l.members)
}

func (b *NameBlobs) write(ctx context.Context, l *nameList) error {
	text, err := json.Marshal(l.members)
	if err != nil {
		return err
	}
	unless, any := &blob.ModifiedAccessConditions{IfMatch: &l.etag}, azcore.ETagAny
	if l.etag == "" {
		unless = &blob.ModifiedAccessConditions{IfNoneMatch: &any}
	}
	_, err = b.Names.NewBlockBlobClient(l.name).Upload(ctx, streaming.NopCloser(bytes.NewReader(text)), &blockblob.UploadOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: unless}})
	return err
}

var indexEntitiesElsewhere = recipe{
	name:        "index-entities-elsewhere",
	title:       "List the members of a group over all partitions, in three ways",
	guide:       []string{"G23"},
	related:     []string{"index-entities", "inter-partition-index", "compound-keys", "lost-notifications"},
	consistency: "strong or eventual",
	measured:    []string{"by option 3, who is"},
	naiveGrows:  "1 per 1,000 rows",
	problem: `The guide has three options for the list of all employees with a last name: a blob for each name (1), an index entity in
		the partition of the employees (2), or in a table of its own, EmployeeDetails (3). Only 1 and 3 list over departments. They
		follow the employees by a worker. A row takes the members that one entity can hold, a blob any number. The recipe shows all three on the
		same employees.`,
	run: func(ctx context.Context, r *Run) error {
		dept := keys.Partition(keys.Text(), func(e *Colleague) *string { return &e.Department })
		name := func(e *Colleague) (string, bool) { return e.LastName, true }
		inPartition := index.NewLists("name", keys.Text(), name, nil)
		details := index.NewGlobalLists("details", keys.Text(), name, &index.ListOptions{Table: r.TableName("EmployeeDetails")})

		base, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Colleague]{
			Partition: dept,
			Row:       keys.Row(keys.Digits[int](6).Named("empid"), func(e *Colleague) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		outbox, err := eventual.NewOutbox(r.Queue("lists"), nil)
		if err != nil {
			return err
		}
		staff, err := eventual.WithOutbox(base, outbox, eventual.OnChange("names", RenamedIn))
		if err != nil {
			return err
		}
		if staff, err = index.Attach(staff, inPartition, details); err != nil {
			return err
		}
		blobs := &NameBlobs{base, r.Account().Container(r.ContainerName("names"))}
		worker, err := eventual.NewWorker(r.Queue("lists"), r.Queue("poison"),
			[]eventual.Handler{index.Handler(staff), eventual.NewHandler("names", staff, blobs.Handle)}, &eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if _, err := blobs.Names.Create(ctx, nil); err != nil {
			return err
		}
		if err := errors.Join(base.Ensure(ctx), index.Ensure(ctx, staff), worker.Ensure(ctx)); err != nil {
			return err
		}
		if err := r.Do("insert three employees of two departments, with the lists of option 2 in the same transactions", func() error {
			for _, e := range []Colleague{{"Marketing", 152, "Jones"}, {"Sales", 223, "Jones"}, {"Sales", 300, "Cao"}} {
				if _, err := staff.Insert(ctx, &e); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("the worker writes the lists of options 1 and 3", func() error { return worker.Drain(ctx) }); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "staff"), r.Stored(ctx, "EmployeeDetails")); err != nil {
			return err
		}
		show := func(all []keys.Key, err error) error {
			for _, k := range all {
				r.Answer("%s", k)
			}
			return err
		}
		ofBlob := func() error {
			l, err := blobs.Read(ctx, "Jones")
			if err == nil {
				r.Answer("%s", l.members)
			}
			return err
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"by option 1, who is called Jones, from the blob", ofBlob},
			{"by option 2, who is called Jones in Sales, from the list in the partition", func() error { return show(inPartition.Keys(ctx, staff, dept.Of("Sales"), "Jones")) }},
			{"by option 3, who is called Jones, from EmployeeDetails", func() error { return show(details.Keys(ctx, staff, "Jones")) }},
			{"rename Cao to Jones: the lists of option 2 are read, and change in the transaction", func() error {
				_, err := staff.Update(ctx, staff.Key(Colleague{Department: "Sales", ID: 300}), func(e *Colleague) error { e.LastName = "Jones"; return nil })
				return err
			}},
			{"the worker changes two blobs and two rows of EmployeeDetails", func() error { return worker.Drain(ctx) }},
			{"option 1, once more", ofBlob},
			{"option 3, once more: get the employees, too", func() error {
				for e, err := range details.List(ctx, staff, "Jones") {
					if err != nil {
						return err
					}
					r.Answer("%s %d %s", e.Value.Department, e.Value.ID, e.Value.LastName)
				}
				return nil
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		lastName := table.FieldOf(func(e *Colleague) *string { return &e.LastName })
		return r.Naive("find all employees called Jones by a filter, which reads the whole table, 1 request for each 1,000 rows", func() error {
			n, err := base.Count(ctx, table.Query[Colleague]{TableScan: true, Where: lastName.Eq("Jones")})
			r.Answer("%d employees", n)
			return err
		})
	},
}
