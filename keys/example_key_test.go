package keys_test

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/aztablekit/aztablekit/keys"
)

// Stored takes keys that were read elsewhere.
func ExampleStored() {
	k := keys.Raw("Sales", "empid_000223")
	fmt.Println(k.PartitionKey(), k.RowKey(), k.Partition(), k.Row())
	s, err := keys.RawRow("a/b").Result()
	fmt.Printf("%q %v\n", s, err)
	// Output:
	// Sales empid_000223 Sales empid_000223
	// "" keys: "a/b" contains '/' at byte 1, which the service refuses in keys
}

// Logs contain keys as they are stored.
func ExampleKey_LogValue() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	row := keys.Digits[int](6).Named("empid").RowKey(223)
	logger.Info("stored", "key", keys.At(keys.RawPartition("Sales"), row), "row", row)
	fmt.Println(keys.At(keys.RawPartition("Sales"), row).LogValue(), row.LogValue())
	// Output:
	// level=INFO msg=stored key=('Sales','empid_000223') row=empid_000223
	// ('Sales','empid_000223') empid_000223
}

// A key contains its error, so that calls nest. The method that uses the key returns the error and sends no request.
func ExampleAt() {
	dept := keys.Text()
	empid := keys.Digits[int](6).Named("empid")
	fmt.Println(keys.At(dept.PartitionKey("Sales"), empid.RowKey(223)))
	fmt.Println(keys.At(dept.PartitionKey("Sales"), empid.RowKey(1234567)).Err())
	// Output:
	// ('Sales','empid_000223')
	// keys: RowKey: component 1, digits(6): "1234567" has too many digits (7, at most 6)
}

// Raw keys are for existing tables.
func ExampleRawPartition() {
	fmt.Println(keys.RawPartition("O'Brien"))
	fmt.Println(keys.RawPartition("a/b").Err())
	// Output:
	// O'Brien
	// keys: "a/b" contains '/' at byte 1, which the service refuses in keys
}
