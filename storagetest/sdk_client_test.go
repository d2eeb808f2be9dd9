package storagetest_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/storagetest"
)

// newStaffTable creates a table called staff and returns the SDK's client of the table, without retries.
func newStaffTable(t *testing.T, s *storagetest.Service) *aztables.Client {
	t.Helper()
	c, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: s, Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateTable(context.Background(), "staff", nil); err != nil {
		t.Fatal(err)
	}
	return c.NewClient("staff")
}

// entity returns the entity ('p', row) as JSON.
func entity(row string) []byte { return []byte(`{"PartitionKey":"p","RowKey":"` + row + `"}`) }

// rows returns the RowKeys in the table staff.
func rows(s *storagetest.Service) string {
	var all []string
	for _, r := range s.Rows("staff") {
		all = append(all, r.RowKey)
	}
	return strings.Join(all, " ")
}

// sendTableRequests sends a request of each kind to the Table service, except transactions and requests for other tables, and
// deletes the table.
func sendTableRequests(t *testing.T, tab *aztables.Client) {
	t.Helper()
	ctx := context.Background()
	replace := aztables.UpdateModeReplace
	_, err1 := tab.AddEntity(ctx, entity("a"), nil)
	_, err2 := tab.AddEntity(ctx, entity("b"), nil)
	_, err3 := tab.UpdateEntity(ctx, entity("a"), nil)
	_, err4 := tab.UpdateEntity(ctx, entity("a"), &aztables.UpdateEntityOptions{UpdateMode: replace})
	_, err5 := tab.UpsertEntity(ctx, entity("a"), nil)
	_, err6 := tab.UpsertEntity(ctx, entity("a"), &aztables.UpsertEntityOptions{UpdateMode: replace})
	_, err7 := tab.DeleteEntity(ctx, "p", "b", nil)
	_, err8 := tab.GetEntity(ctx, "p", "a", nil)
	filter := "PartitionKey eq 'p'"
	_, err9 := tab.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter}).NextPage(ctx)
	_, err10 := tab.Delete(ctx, nil)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10); err != nil {
		t.Fatal(err)
	}
}

// sendQueueRequests sends a request of each kind to the Queue service, and returns the ID of the message.
func sendQueueRequests(t *testing.T, queues *azqueue.ServiceClient) (id string) {
	t.Helper()
	ctx := context.Background()
	q := queues.NewQueueClient("hints")
	_, err0 := q.Create(ctx, nil)
	a, err1 := q.EnqueueMessage(ctx, "a", nil)
	_, err2 := q.PeekMessage(ctx, nil)
	got, err3 := q.DequeueMessage(ctx, nil)
	if err := errors.Join(err0, err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	id = *a.Messages[0].MessageID
	u, err := q.UpdateMessage(ctx, id, *got.Messages[0].PopReceipt, "b", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err1 = q.DeleteMessage(ctx, id, *u.PopReceipt, nil)
	_, err2 = q.ClearMessages(ctx, nil)
	_, err3 = q.GetProperties(ctx, nil)
	_, err4 := q.SetMetadata(ctx, nil)
	_, err5 := q.Delete(ctx, nil)
	_, err6 := queues.NewListQueuesPager(nil).NextPage(ctx)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	return id
}

// code returns the error code of a response, or "".
func code(err error) string {
	var re *azcore.ResponseError
	errors.As(err, &re)
	if re == nil {
		return ""
	}
	return re.ErrorCode
}

// The errors that a client may receive.
func fine(err error) bool   { return err == nil }
func failed(err error) bool { return err != nil }
func reset(err error) bool  { return errors.Is(err, syscall.ECONNRESET) }
func over(err error) bool   { return errors.Is(err, context.DeadlineExceeded) }

// coded returns a function that reports whether an error has a code.
func coded(want string) func(error) bool { return func(err error) bool { return code(err) == want } }
