package keys_test

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// Numbers are padded; a value that does not fit is an error, not a key out of order.
func ExampleDigits() {
	type EmployeeID uint32
	empid := keys.Tuple1(keys.Digits[EmployeeID](6))
	fmt.Println(empid.Of(EmployeeID(123)))
	// Output: 000123
}

// Negative numbers sort below positive ones.
func ExampleInt() {
	balance := keys.Tuple1(keys.Int[int](4))
	fmt.Println(balance.Of(-7), balance.Of(-1), balance.Of(0), balance.Of(42))
	// Output: -9992 -9998 00000 00042
}

func ExampleFloat() {
	ratio := keys.Tuple1(keys.Float[float64]())
	fmt.Println(ratio.Of(-1).String() < ratio.Of(0.5).String(), ratio.Of(0.5).String() < ratio.Of(3).String())
	// Output: true true
}

// Text stays readable; Ordered has the order of its bytes in any place.
func ExampleText() {
	fmt.Println(keys.Tuple1(keys.Text()).Of("jonesj@contoso.com"))
	fmt.Println(keys.Tuple1(keys.Text()).Of("R&D Zürich"))
	// Output:
	// jonesj@contoso.com
	// R=26D=20Z=C3=BCrich
}

func ExampleOrdered() {
	byName := keys.Tuple2(keys.Ordered(), keys.Digits[int](6))
	fmt.Println(byName.Of("Jones", 123))
	fmt.Println(byName.Of("Jones-Smith", 7))
	// Output:
	// Jones!_000123
	// Jones-2DSmith!_000007
}

// A look-up finds an address however it is written.
func ExampleFold() {
	email := keys.Tuple1(keys.Fold(keys.Text())).Named("email")
	fmt.Println(email.Of("JonesJ@Contoso.com"))
	// Output: email_jonesj@contoso.com
}

func ExampleTime() {
	at := keys.Tuple1(keys.Time())
	fmt.Println(at.Of(time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)))
	// Output: 0639304164000000000
}

func ExampleDate() {
	day := keys.Tuple2(keys.Text(), keys.Date())
	fmt.Println(day.Of("web", time.Date(2014, 7, 31, 0, 0, 0, 0, time.UTC)))
	// Output: web_2014-07-31
}

func ExampleUUID() {
	type OrderID [16]byte
	order := keys.Tuple1(keys.UUID[OrderID]()).Named("order")
	fmt.Println(order.Of(OrderID{0xde, 0xbc, 15: 1}))
	// Output: order_debc0000-0000-0000-0000-000000000001
}

func ExampleBytes() {
	hash := keys.Tuple1(keys.Bytes())
	fmt.Println(hash.Of([]byte{0, 255}))
	// Output: 00ff
}

func ExampleBool() {
	open := keys.Tuple2(keys.Bool(), keys.Uint(4))
	fmt.Println(open.Of(true, 7))
	// Output: 1_0007
}

func ExampleEnum() {
	state := keys.Tuple2(keys.Enum("new", "done"), keys.Uint(4))
	fmt.Println(state.Of("new", 7))
	fmt.Println(state.Of("lost", 7))
	// Output:
	// new_0007
	// (keys: part 1, enum: "lost" is none of ["new" "done"])
}

// Map makes a part for a type of your own.
func ExampleMap() {
	type Month struct{ Year, Month int }
	month := keys.Map(keys.Digits[int](6),
		func(m Month) int { return m.Year*100 + m.Month },
		func(n int) (Month, error) {
			if n%100 < 1 || n%100 > 12 {
				return Month{}, fmt.Errorf("is no month")
			}
			return Month{n / 100, n % 100}, nil
		})
	byMonth := keys.Tuple1(month)
	fmt.Println(byMonth.Between(Month{2026, 1}, Month{2026, 11}))
	m, err := byMonth.Decode("202611")
	fmt.Println(m, err)
	// Output:
	// [202601, 202611]
	// {2026 11} <nil>
}

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

func ExampleInvertedTicks() {
	n, err := keys.InvertedTicks(time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC))
	fmt.Println(n, err)
	t, err := keys.FromInvertedTicks(n)
	fmt.Println(t, err)
	// Output:
	// 2516074811999999999 <nil>
	// 2026-11-16 09:00:00 +0000 UTC <nil>
}

// A key that loses information is computed, checked on reading, and never read back.
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

func ExampleRawBetween() {
	r := keys.RawBetween("a", "c")
	fmt.Println(r, r.Contains("bcd"), r.Contains("c"))
	open := keys.RawBetween("a", "") // without the library's rows in its middle
	fmt.Println(open.Contains("Öblarn"), open.Contains("~i|"), open.SpansReserved())
	// Output:
	// [a, c) true false
	// true false true
}

// Ticks are .NET's: 100 ns since year 1.
func ExampleTicks() {
	at := time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC)
	ticks, err := keys.Ticks(at)
	fmt.Println(ticks, err)
	back, err := keys.FromTicks(ticks)
	fmt.Println(back, err)
	// Output:
	// 635424264000000000 <nil>
	// 2014-07-31 18:00:00 +0000 UTC <nil>
}

// The user's own text types need no conversion.
func ExampleTextOf() {
	type Email string
	type Name string
	fmt.Println(keys.Tuple2(keys.OrderedOf[Name](), keys.TextOf[Email]()).Of("Jones", "jonesj@contoso.com"))
	// Output: Jones!_jonesj@contoso.com
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

// Ranges in the order of the values, open on one side, or below leading parts.
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

// What a range holds can be asked without a table.
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

// A key can be taken apart, and one that was read elsewhere can be used as it is.
func ExampleStored() {
	k := keys.Stored("Sales", "empid_000223")
	fmt.Println(k.PartitionKey(), k.RowKey(), k.Partition(), k.Row())
	s, err := keys.Raw("a/b").Result()
	fmt.Printf("%q %v\n", s, err)
	// Output:
	// Sales empid_000223 Sales empid_000223
	// "" keys: "a/b" holds '/' at byte 1, which the service refuses in keys
}

// The service's order is that of UTF-16; Go's differs beyond U+FFFF.
func ExampleCompare() {
	fmt.Println(keys.Compare("empid_000100", "empid_000223"), keys.Compare("\U0001F600", "\uFFFD"), "\U0001F600" < "\uFFFD")
	// Output: -1 -1 false
}

// The keys of an index: a value, and behind it the key of the entity that has it.
func ExampleWithSuffix() {
	last := keys.WithSuffix(keys.Tuple1(keys.Ordered()), "last")
	row := last.Of("Jones", keys.Raw("empid_000223"))
	fmt.Println(row)
	fmt.Println(last.Prefix("Jones"))
	fmt.Println(last.Between("Brown", "Jones").Contains(row.String()), last.Starting("Jo").Contains(row.String()))
	fmt.Println(last.Decode(row.String()))
	// Output:
	// last_Jones!_empid_000223
	// [last_Jones!_, last_Jones!`)
	// true true
	// Jones empid_000223 <nil>
}

// Several parts as one value, in the order of the parts.
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

// Rows of the library, for programs that look at them.
func ExampleStoredBetween() {
	fmt.Println(keys.StoredBetween("~i|", "~i}"))
	// Output: [~i|, ~i})
}

// Logs show keys as they are stored.
func ExampleKey_LogValue() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	row := keys.Tuple1(keys.Digits[int](6)).Named("empid").Of(223)
	logger.Info("stored", "key", keys.At(keys.Raw("Sales"), row), "row", row)
	fmt.Println(keys.At(keys.Raw("Sales"), row).LogValue(), row.LogValue())
	// Output:
	// level=INFO msg=stored key=('Sales','empid_000223') row=empid_000223
	// ('Sales','empid_000223') empid_000223
}
