package keys_test

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// A number that is to sort is padded; a name in front keeps several kinds of rows apart in one partition.
func Example() {
	empid := keys.Tuple1(keys.Digits[int](6)).Named("empid")
	fmt.Println(empid.Of(223))
	fmt.Println(empid.Between(100, 199))
	id, err := empid.Decode("empid_000223")
	fmt.Println(id, err)
	// Output:
	// empid_000223
	// [empid_000100, empid_000199]
	// 223 <nil>
}

// The reviews of an employee are next to each other, and next to nobody else's.
func ExampleTuple2() {
	reviews := keys.Tuple2(keys.Digits[int](6), keys.Digits[int](4))
	fmt.Println(reviews.Of(123, 2012))
	fmt.Println(reviews.Prefix(123))
	fmt.Println(reviews.Between(123, 2010, 2012))
	// Output:
	// 000123_2012
	// [000123_, 000123`)
	// [000123_2010, 000123_2012]
}

// Inverted ticks: the newest entry has the smallest key, and so comes first.
func ExampleDesc() {
	claims := keys.Tuple1(keys.Desc(keys.Time()))
	monday := time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
	fmt.Println(claims.Of(monday))
	fmt.Println(claims.Of(monday.Add(time.Hour)))
	at, err := claims.Decode("2516074811999999999")
	fmt.Println(at, err)
	// Output:
	// 2516074811999999999
	// 2516074775999999999
	// 2026-11-16 09:00:00 +0000 UTC <nil>
}

// A mistake stays in the key until it is used, so calls nest, and no request is sent for it.
func ExampleAt() {
	dept := keys.Tuple1(keys.Text())
	empid := keys.Tuple1(keys.Digits[int](6)).Named("empid")
	fmt.Println(keys.At(dept.Of("Sales"), empid.Of(223)))
	fmt.Println(keys.At(dept.Of("Sales"), empid.Of(1234567)).Err())
	// Output:
	// ('Sales','empid_000223')
	// keys: RowKey: part 1, digits(6): "1234567" has too many digits (7, at most 6)
}

// An employee and everything that hangs on her, in one query.
func ExampleFamily() {
	employee := keys.Tuple1(keys.Digits[int](6))
	r := keys.Family(employee.Of(123))
	fmt.Println(r.Contains("000123"), r.Contains("000123_2012"), r.Contains("0001234"))
	// Output: true true false
}

// Spread keeps a partition from getting hot; a twin layout visits the buckets.
func ExampleSpread() {
	bucket := keys.Tuple2(keys.Text(), keys.Spread(keys.Text(), 4))
	fmt.Println(bucket.Of("claims", "jonesj"))
	visit := keys.Tuple2(keys.Text(), keys.Digits[int](1))
	for i := range 4 {
		fmt.Println(visit.Of("claims", i))
	}
	// Output:
	// claims_2
	// claims_0
	// claims_1
	// claims_2
	// claims_3
}

// A binding builds the key from fields and sets them from the key.
func ExampleBind2() {
	type Review struct {
		ID, Year int
		Rating   int
	}
	reviews := keys.Tuple2(keys.Digits[int](6), keys.Digits[int](4))
	row := keys.Bind2(reviews, func(r *Review) (*int, *int) { return &r.ID, &r.Year })
	fmt.Println(row.Encode(&Review{ID: 123, Year: 2012, Rating: 5}))
	var back Review
	fmt.Println(row.Decode(&back, "000123_2012"), back.ID, back.Year)
	// Output:
	// 000123_2012
	// <nil> 123 2012
}

// Raw keys serve tables that exist already.
func ExampleRaw() {
	fmt.Println(keys.Raw("O'Brien"))
	fmt.Println(keys.Raw("a/b").Err())
	// Output:
	// O'Brien
	// keys: "a/b" holds '/' at byte 1, which the service refuses in keys
}
