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
	fmt.Println(r.Contains("empid_000150"), r.Overlaps(empid.Rows().AtLeast(200)))
	first, last, err := empid.Rows().All().Inclusive()
	fmt.Println(first, last, err)
	one := empid.RowKey(223).Point()
	fmt.Println(one.IsPoint(), one.Key())
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

// StoredRows also selects rows of the library.
func ExampleStoredRows() {
	fmt.Println(keys.StoredRows("~i|", "~i}"))
	// Output: [~i|, ~i})
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
	fmt.Println(summer, summer.Overlaps(month.Starting("202608")))
	// Output: [202606, 202609) true
}

// A list that has come to a row continues behind it.
func ExampleRowRange_Behind() {
	empid := keys.Row(keys.Digits[int](6), func(n *int) *int { return n })
	rest := empid.Between(100, 199).Behind(empid.Of(150))
	fmt.Println(rest)
	// Output: [000150 , 000199]
}

func ExampleRowRange_Intersect() {
	empid := keys.Row(keys.Digits[int](6), func(n *int) *int { return n })
	fmt.Println(empid.AtLeast(100).Intersect(empid.Before(200)))
	// Output: [000100, 000200)
}

type order struct{ Month string }
