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

// A struct of several fields is one value.
func ExampleStruct2() {
	type hire struct {
		Title string
		On    time.Time
	}
	hired := keys.Struct2(keys.Ordered(), keys.Date(), func(h *hire) (*string, *time.Time) { return &h.Title, &h.On }).Named("hired")
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	fmt.Println(hired.RowKey(hire{"Clerk", day(16)}))
	fmt.Println(hired.Rows().Between(hire{"Clerk", day(1)}, hire{"Clerk", day(30)}))
	// Output:
	// hired_Clerk!_2026-11-16
	// [hired_Clerk!_2026-11-01, hired_Clerk!_2026-11-30]
}

func ExampleStruct3() {
	type place struct {
		Country, City string
		Zone          int
	}
	at := keys.Struct3(keys.Ordered(), keys.Ordered(), keys.Digits[int](2), func(p *place) (*string, *string, *int) {
		return &p.Country, &p.City, &p.Zone
	})
	fmt.Println(at.RowKey(place{"CH", "Bern", 7}))
	// Output: CH!_Bern!_07
}
