package keys_test

import (
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
)

func ExampleRawBetween() {
	r := keys.RawBetween("a", "c")
	fmt.Println(r, r.Contains("bcd"), r.Contains("c"))
	open := keys.RawBetween("a", "") // does not contain the library's rows, which lie between its keys
	fmt.Println(open.Contains("Öblarn"), open.Contains("~i|"), open.SpansReserved())
	// Output:
	// [a, c) true false
	// true false true
}

// A range can be used without a table.
func ExampleRange() {
	empid := keys.Tuple1(keys.Digits[int](6)).Named("empid")
	r := empid.Between(100, 199)
	from, to, closed := r.Bounds()
	fmt.Println(from, to, closed, r.IsSet())
	fmt.Println(r.Contains("empid_000150"), r.Overlaps(empid.AtLeast(200)))
	first, last, err := empid.All().Inclusive()
	fmt.Println(first, last, err)
	one := keys.Point(empid.Of(223))
	fmt.Println(one.IsPoint(), one.Point())
	// Output:
	// empid_000100 empid_000199 true true
	// true false
	// empid_ empid_~ <nil>
	// true empid_000223
}

// The service sorts by UTF-16, and Go by UTF-8. The orders differ beyond U+FFFF.
func ExampleCompare() {
	fmt.Println(keys.Compare("empid_000100", "empid_000223"), keys.Compare("\U0001F600", "\uFFFD"), "\U0001F600" < "\uFFFD")
	// Output: -1 -1 false
}

// StoredBetween also selects rows of the library.
func ExampleStoredBetween() {
	fmt.Println(keys.StoredBetween("~i|", "~i}"))
	// Output: [~i|, ~i})
}

// One query reads an employee and all rows of hers.
func ExampleFamily() {
	employee := keys.Tuple1(keys.Digits[int](6))
	r := keys.Family(employee.Of(123))
	fmt.Println(r.Contains("000123"), r.Contains("000123_2012"), r.Contains("0001234"))
	// Output: true true false
}
