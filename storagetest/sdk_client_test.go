package storagetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

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
// entity returns the entity ('p', row) as JSON.
func entity(row string) []byte { return []byte(`{"PartitionKey":"p","RowKey":"` + row + `"}`) }

// rows returns the RowKeys in the table staff.
// rows returns the RowKeys in the table staff.
func rows(s *storagetest.Service) string {
	var all []string
	for _, r := range s.Rows("staff") {
		all = append(all, r.RowKey)
	}
	return strings.Join(all, " ")
}

// code returns the error code of a response, or "".
// code returns the error code of a response, or "".
func code(err error) string {
	var re *azcore.ResponseError
	errors.As(err, &re)
	if re == nil {
		return ""
	}
	return re.ErrorCode
}
