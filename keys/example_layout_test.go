package keys_test

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

func ExampleTuple3() {
	log := keys.Tuple3(keys.Text(), keys.Digits[int](4), keys.Digits[int](6)).Named("log")
	fmt.Println(log.Of("web", 2026, 17))
	fmt.Println(log.Prefix2("web", 2026))
	// Output:
	// log_web_2026_000017
	// [log_web_2026_, log_web_2026`)
}

func ExampleLayout1_Starting() {
	email := keys.Tuple1(keys.Text()).Named("email")
	fmt.Println(email.Starting("a"))
	// Output: [email_a, email_b)
}

// Ranges follow the order of the values.
func ExampleLayout3_AtLeast() {
	reading := keys.Tuple3(keys.Text(), keys.Digits[int](2), keys.Digits[int](4))
	fmt.Println(reading.AtLeast("web", 7, 100))
	fmt.Println(reading.AtMost("web", 7, 100))
	fmt.Println(reading.Prefix1("web"))
	// Output:
	// [web_07_0100, web_07`)
	// [web_07_, web_07_0100]
	// [web_, web`)
}

// A struct of several fields is one value.
func ExampleStruct2() {
	type hire struct {
		Title string
		On    time.Time
	}
	hired := keys.NamedAs(keys.Struct2(keys.Tuple2(keys.Ordered(), keys.Date()), func(h *hire) (*string, *time.Time) {
		return &h.Title, &h.On
	}), "hired")
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	fmt.Println(hired.Of(hire{"Clerk", day(16)}))
	fmt.Println(hired.Between(hire{"Clerk", day(1)}, hire{"Clerk", day(30)}))
	// Output:
	// hired_Clerk!_2026-11-16
	// [hired_Clerk!_2026-11-01, hired_Clerk!_2026-11-30]
}

func ExampleStruct3() {
	type place struct {
		Country, City string
		Zone          int
	}
	at := keys.Struct3(keys.Tuple3(keys.Ordered(), keys.Ordered(), keys.Digits[int](2)), func(p *place) (*string, *string, *int) {
		return &p.Country, &p.City, &p.Zone
	})
	fmt.Println(at.Of(place{"CH", "Bern", 7}))
	// Output: CH!_Bern!_07
}

// The reviews of an employee are neighbours.
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
