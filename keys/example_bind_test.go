package keys_test

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// BindFunc computes a key that loses information. A read checks the key and does not decode it.
func ExampleBindFunc() {
	type User struct{ Email string }
	bucket := keys.Tuple1(keys.Spread(keys.Text(), 16))
	partition := keys.BindFunc(bucket.All(), func(u *User) keys.Enc { return bucket.Of(u.Email) })
	fmt.Println(partition.Encode(&User{"jonesj@contoso.com"}), partition.OneWay())
	// Output: 06 true
}

func ExampleBind1() {
	type Employee struct{ ID int }
	row := keys.Bind1(keys.Tuple1(keys.Digits[int](6)).Named("empid"), func(e *Employee) *int { return &e.ID })
	fmt.Println(row.Encode(&Employee{223}), row.Range())
	// Output: empid_000223 [empid_, empid`)
}

func ExampleBindRaw() {
	type Row struct{ Name string }
	row := keys.BindRaw(func(r *Row) *string { return &r.Name })
	fmt.Println(row.Encode(&Row{"O'Brien"}))
	// Output: O'Brien
}

func ExampleConst() {
	type Setting struct{ Name string }
	partition := keys.Const[Setting]("settings")
	fmt.Println(partition.Encode(&Setting{}), partition.Range().IsPoint())
	// Output: settings true
}

// Three parts bind to three fields.
func ExampleBind3() {
	type Line struct {
		Server string
		At     time.Time
		Number uint64
		Text   string
	}
	log := keys.Tuple3(keys.Text(), keys.Desc(keys.Time()), keys.Uint(4))
	b := keys.Bind3(log, func(l *Line) (*string, *time.Time, *uint64) { return &l.Server, &l.At, &l.Number })
	row := b.Encode(&Line{Server: "web", At: time.Unix(0, 0), Number: 7})
	fmt.Println(row)
	var back Line
	fmt.Println(b.Decode(&back, row.String()), back.Server, back.At, back.Number, len(b.Fields(&back)))
	// Output:
	// web_2534023007999999999_0007
	// <nil> web 1970-01-01 00:00:00 +0000 UTC 7 3
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
