package keys_test

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// Numbers are padded. A value with too many digits is an error.
func ExampleDigits() {
	type EmployeeID uint32
	empid := keys.Digits[EmployeeID](6)
	fmt.Println(empid.RowKey(EmployeeID(123)))
	// Output: 000123
}

// Negative numbers sort below positive ones.
func ExampleInt() {
	balance := keys.Int[int](4)
	fmt.Println(balance.RowKey(-7), balance.RowKey(-1), balance.RowKey(0), balance.RowKey(42))
	// Output: -9992 -9998 00000 00042
}

func ExampleFloat() {
	ratio := keys.Float[float64]()
	fmt.Println(ratio.RowKey(-1).String() < ratio.RowKey(0.5).String(), ratio.RowKey(0.5).String() < ratio.RowKey(3).String())
	// Output: true true
}

// Text stays readable.
func ExampleText() {
	fmt.Println(keys.Text().RowKey("jonesj@contoso.com"))
	fmt.Println(keys.Text().RowKey("R&D Zürich"))
	// Output:
	// jonesj@contoso.com
	// R=26D=20Z{25rich
}

func ExampleOrdered() {
	byName := pairOf(keys.Ordered(), keys.Digits[int](6))
	fmt.Println(byName.Of("Jones", 123))
	fmt.Println(byName.Of("Jones-Smith", 7))
	// Output:
	// Jones!_000123
	// Jones-2DSmith!_000007
}

// A look-up ignores case.
func ExampleFold() {
	email := keys.Fold(keys.Text()).Named("email")
	fmt.Println(email.RowKey("JonesJ@Contoso.com"))
	// Output: email_jonesj@contoso.com
}

func ExampleTime() {
	at := keys.Time()
	fmt.Println(at.RowKey(time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)))
	// Output: 0639304164000000000
}

func ExampleDate() {
	day := pairOf(keys.Text(), keys.Date())
	fmt.Println(day.Of("web", time.Date(2014, 7, 31, 0, 0, 0, 0, time.UTC)))
	// Output: web_2014-07-31
}

func ExampleUUID() {
	type OrderID [16]byte
	order := keys.UUID[OrderID]().Named("order")
	fmt.Println(order.RowKey(OrderID{0xde, 0xbc, 15: 1}))
	// Output: order_debc0000-0000-0000-0000-000000000001
}

func ExampleBytes() {
	hash := keys.Bytes()
	fmt.Println(hash.RowKey([]byte{0, 255}))
	// Output: 00ff
}

func ExampleBool() {
	open := pairOf(keys.Bool(), keys.Digits[uint64](4))
	fmt.Println(open.Of(true, 7))
	// Output: 1_0007
}

func ExampleEnum() {
	state := pairOf(keys.Enum("new", "done"), keys.Digits[uint64](4))
	fmt.Println(state.Of("new", 7))
	fmt.Println(state.Of("lost", 7))
	// Output:
	// new_0007
	// (keys: component 1, enum: "lost" is none of ["new" "done"])
}

// Map makes a component for a type of the program.
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
	byMonth := month
	fmt.Println(byMonth.Rows().Between(Month{2026, 1}, Month{2026, 11}))
	m, err := byMonth.Decode("202611")
	fmt.Println(m, err)
	// Output:
	// [202601, 202611]
	// {2026 11} <nil>
}

// String types of the program need no conversion.
func ExampleTextOf() {
	type Email string
	type Name string
	fmt.Println(pairOf(keys.OrderedOf[Name](), keys.TextOf[Email]()).Of("Jones", "jonesj@contoso.com"))
	// Output: Jones!_jonesj@contoso.com
}

// With inverted ticks, the newest entry has the smallest key and sorts first.
func ExampleDesc() {
	claims := keys.Desc(keys.Time())
	monday := time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
	fmt.Println(claims.RowKey(monday))
	fmt.Println(claims.RowKey(monday.Add(time.Hour)))
	at, err := claims.Decode("2516074811999999999")
	fmt.Println(at, err)
	// Output:
	// 2516074811999999999
	// 2516074775999999999
	// 2026-11-16 09:00:00 +0000 UTC <nil>
}

// Spread distributes values over partitions. A layout with Digits in place of Spread visits all buckets.
func ExampleSpread() {
	bucket := pairOf(keys.Text(), keys.Spread(keys.Text(), 4))
	fmt.Println(bucket.Of("claims", "jonesj"))
	visit := pairOf(keys.Text(), keys.Digits[int](1))
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
