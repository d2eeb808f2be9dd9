package keys_test

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// The texts with a prefix are neighbours.
func ExampleRowRanges_Starting() {
	email := keys.Text().Named("email")
	fmt.Println(email.Rows().Starting("a"))
	// Output: [email_a, email_b)
}

// If larger values sort first, the smaller ones are behind.
func ExampleRowRanges_Before() {
	newest := keys.Desc(keys.Date())
	fmt.Println(keys.Digits[int](3).Rows().AtMost(50))
	fmt.Println(keys.Date().Rows().Before(time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)))
	fmt.Println(newest.Rows().Before(time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)))
	// Output:
	// [000, 050]
	// [0000-00-00, 2026-11-16)
	// [7973-88-83`, 9999-99-99]
}
