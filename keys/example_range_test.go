package keys_test

import (
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
)

func ExampleRawRows() {
	r := keys.RawPartitions("a", "c")
	fmt.Println(r, r.Contains("bcd"), r.Contains("c"))
	open := keys.RawRows("a", "") // does not contain the library's rows, which lie between its keys
	fmt.Println(open.Contains("Öblarn"), open.Contains("~i|"), open.SpansReserved())
	// Output:
	// [a, c) true false
	// true false true
}

// A range can be used without a table.
func ExampleRowRange() {
	empid := keys.Digits[int](6).Named("empid")
	r := empid.Rows().Between(100, 199)
	from, to, closed := r.Bounds()
	fmt.Println(from, to, closed, r.IsSet())
	fmt.Println(r.Contains("empid_000150"), r.Contains("empid_000200"))
	first, last, err := empid.Rows().All().Inclusive()
	fmt.Println(first, last, err)
	fmt.Println(empid.RowKey(223).Point())
	// Output:
	// empid_000100 empid_000199 true true
	// true false
	// empid_ empid_~ <nil>
	// [empid_000223, empid_000223]
}

// The service sorts by UTF-16, and Go by UTF-8. The orders differ beyond U+FFFF.
func ExampleCompare() {
	fmt.Println(keys.Compare("empid_000100", "empid_000223"), keys.Compare("\U0001F600", "\uFFFD"), "\U0001F600" < "\uFFFD")
	// Output: -1 -1 false
}

// One query reads an employee and all rows of hers.
func ExampleRowKey_Family() {
	employee := keys.Digits[int](6)
	r := employee.RowKey(123).Family()
	fmt.Println(r.Contains("000123"), r.Contains("000123_2012"), r.Contains("0001234"))
	// Output: true true false
}

// Work that has come to a partition continues behind it.
func ExamplePartitionRange_Behind() {
	month := keys.Partition(keys.Ordered(), func(o *order) *string { return &o.Month })
	year := month.Starting("2026")
	rest := year.Behind(month.Of("202601"))
	fmt.Println(rest.Contains("202601"), rest.Contains("202602"), rest.Contains("202701"))
	// Output: false true false
}

func ExamplePartitionRange_Intersect() {
	month := keys.Partition(keys.Ordered(), func(o *order) *string { return &o.Month })
	summer := month.AtLeast("202606").Intersect(month.Before("202609"))
	fmt.Println(summer)
	// Output: [202606, 202609)
}

func ExampleRowRange_Intersect() {
	empid := keys.Row(keys.Digits[int](6), func(n *int) *int { return n })
	fmt.Println(empid.AtLeast(100).Intersect(empid.Before(200)))
	// Output: [000100, 000200)
}

type order struct{ Month string }
