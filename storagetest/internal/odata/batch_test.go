package odata_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// TestBatchAddress: the path of an operation is below the account, whether the client says the host, the account at a port, or neither.
func TestBatchAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, address, want string }{
		{"http://127.0.0.1:9/devstore", "http://127.0.0.1:9/devstore/staff", "/staff"},
		{"http://127.0.0.1:9/devstore", "/devstore/staff", "/staff"},
		{"http://127.0.0.1:9/devstore", "http://localhost:9/devstore/staff(PartitionKey='%2F',RowKey='')", "/staff(PartitionKey='%2F',RowKey='')"},
		{"http://127.0.0.1:9/devstore", "/devstore", "/devstore"},
		{"https://devstore.table.test", "/staff", "/staff"},
		{"https://devstore.table.test", "https://elsewhere/staff", "/staff"},
		{"https://devstore.table.test", "/devstore/staff", "/devstore/staff"},
	} {
		body := "--a\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: application/http\r\n\r\nPOST " + c.address + " HTTP/1.1\r\n\r\n{}\r\n--b--\r\n--a--\r\n"
		b, f := odata.ParseBatch("multipart/mixed; boundary=a", []byte(body), c.base)
		if f != nil || len(b.Operations) != 1 || b.Operations[0].Path != c.want {
			t.Errorf("%s at %s: got %+v, %v; want the path %s", c.address, c.base, b, f, c.want)
		}
	}
}
