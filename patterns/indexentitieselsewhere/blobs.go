package indexentitieselsewhere

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// BlobMembers returns the employees of a last name in all departments, each as PartitionKey/RowKey, from the blob of the name. 1 request.
func (s *Staff) BlobMembers(ctx context.Context, name string) ([]string, error) {
	members, _, err := s.readBlob(ctx, name)
	return members, err
}

// renamed returns the last names before and after a write, whose blobs may have to change.
func renamed(c *eventual.Change[Employee]) (names []string, due bool) {
	for _, e := range []*Employee{c.Old, c.New} {
		if e != nil && e.LastName != "" && !slices.Contains(names, e.LastName) {
			names = append(names, e.LastName)
		}
	}
	return names, c.Old == nil || c.New == nil || c.Old.LastName != c.New.LastName
}

// writeBlobs is the handler of the effect. A worker may call it several times for one write, and late.
func (s *Staff) writeBlobs(ctx context.Context, j eventual.Job, names []string) error {
	for _, name := range names {
		if err := s.writeBlob(ctx, name, j.Key); err != nil {
			return err
		}
	}
	return nil
}

// writeBlob makes the blob of a name follow an employee. It reads the blob, then the employee, and then writes the blob by its ETag, also if
// nothing changes: in this order, no late call writes an old name. A list without members stays.
func (s *Staff) writeBlob(ctx context.Context, name string, employee keys.Key) error {
	for range 20 {
		members, etag, err := s.readBlob(ctx, name)
		if err != nil {
			return err
		}
		e, err := s.Employees.Get(ctx, employee)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		member := employee.PartitionKey() + "/" + employee.RowKey()
		members = slices.DeleteFunc(members, func(m string) bool { return m == member })
		if err == nil && e.Value.LastName == name {
			members = append(members, member)
			slices.Sort(members)
		}
		text, err := json.Marshal(members)
		if err != nil {
			return err
		}
		unless := &blob.ModifiedAccessConditions{IfMatch: &etag}
		if etag == "" {
			unless = &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}
		}
		_, err = s.blobs.NewBlockBlobClient(name).UploadBuffer(ctx, text,
			&blockblob.UploadBufferOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: unless}})
		if !bloberror.HasCode(err, bloberror.ConditionNotMet, bloberror.BlobAlreadyExists) { // which a concurrent worker has written
			return err
		}
	}
	return fmt.Errorf("concurrent workers changed the list of %s each time", name)
}

// readBlob returns the members of a name, and the ETag of the blob, "" if there is none.
func (s *Staff) readBlob(ctx context.Context, name string) (members []string, etag azcore.ETag, err error) {
	response, err := s.blobs.NewBlobClient(name).DownloadStream(ctx, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound) {
		return nil, "", nil
	} else if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	err = json.NewDecoder(response.Body).Decode(&members)
	return members, *response.ETag, err
}
