package keys_test

import (
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
)

// Padded numbers sort. A name separates several kinds of rows in one partition.
func Example() {
	empid := keys.Digits[int](6).Named("empid")
	fmt.Println(empid.RowKey(223))
	fmt.Println(empid.Rows().Between(100, 199))
	id, err := empid.Decode("empid_000223")
	fmt.Println(id, err)
	// Output:
	// empid_000223
	// [empid_000100, empid_000199]
	// 223 <nil>
}
