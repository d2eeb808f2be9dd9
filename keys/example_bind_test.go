package keys_test

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// The keys of a table that exists already are text fields as they are.
func ExampleRawPartitionOf() {
	type Note struct{ Owner, ID string }
	notes := table.Schema[Note]{
		Partition: keys.RawPartitionOf(func(n *Note) *string { return &n.Owner }),
		Row:       keys.RawRowOf(func(n *Note) *string { return &n.ID }),
	}
	fmt.Println(keyOf(notes, Note{"O'Brien", "n 1"}))
	// Output: ('O''Brien','n 1')
}

// A table of one partition, and one row in each partition.
func ExampleOnePartition() {
	type Setting struct{ Name string }
	settings := table.Schema[Setting]{
		Partition: keys.OnePartition[Setting]("settings"),
		Row:       keys.Row(keys.Text(), func(s *Setting) *string { return &s.Name }),
	}
	fmt.Println(keyOf(settings, Setting{"color"}))
	type Department struct{ Name string }
	departments := table.Schema[Department]{
		Partition: keys.Partition(keys.Text(), func(d *Department) *string { return &d.Name }),
		Row:       keys.OneRow[Department]("department"),
	}
	fmt.Println(keyOf(departments, Department{"Sales"}))
	// Output:
	// ('settings','color')
	// ('Sales','department')
}

// The address is stored as it is, and its key ignores case.
func ExampleRowFunc() {
	type User struct{ Team, Email string }
	users := table.Schema[User]{
		Partition: keys.Partition(keys.Text(), func(u *User) *string { return &u.Team }),
		Row:       keys.RowFunc(keys.Fold(keys.Text()), func(u *User) string { return u.Email }),
	}
	fmt.Println(keyOf(users, User{"Sales", "JonesJ@Contoso.com"}))
	// Output: ('Sales','jonesj@contoso.com')
}

// PartitionKeys of two and three fields.
func ExamplePartition2() {
	type Reading struct {
		Country, City string
		Year          int
	}
	city := keys.Partition2(keys.Ordered(), keys.Text(), func(r *Reading) (*string, *string) { return &r.Country, &r.City })
	cityAndYear := keys.Partition3(keys.Ordered(), keys.Text(), keys.Digits[int](4), func(r *Reading) (*string, *string, *int) { return &r.Country, &r.City, &r.Year })
	fmt.Println(city.Of("CH", "Bern"), cityAndYear.Of("CH", "Bern", 2026))
	fmt.Println(city.Under("CH").All()) // for a grant
	// Output:
	// CH!_Bern CH!_Bern_2026
	// [CH!_, CH!`)
}

// keyOf returns the key under which a value is stored.
func keyOf[T any](schema table.Schema[T], value T) keys.Key {
	s := aztablekit.Open(storagetest.New(nil), "things", nil)
	return aztablekit.Table(s, "things", schema.Partition, schema.Row).Key(value)
}

// A PartitionKey that is computed loses information. A read checks the key and does not decode it.
func ExamplePartitionFunc() {
	type User struct{ Email string }
	bucket := keys.PartitionFunc(keys.Spread(keys.Text(), 16), func(u *User) string { return u.Email })
	fmt.Println(bucket.Of("jonesj@contoso.com"))
	// Output: 06
}

// A RowKey holds a field. Its name keeps it apart from rows of other types in the partition.
func ExampleRow() {
	type Employee struct{ ID int }
	empid := keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
	fmt.Println(empid.Of(223))
	fmt.Println(empid.Between(100, 199))
	// Output:
	// empid_000223
	// [empid_000100, empid_000199]
}

// A RowKey of two fields. The reviews of an employee are neighbours.
func ExampleRow2() {
	type Review struct {
		ID, Year int
		Rating   int
	}
	review := keys.Row2(keys.Digits[int](6), keys.Digits[int](4), func(r *Review) (*int, *int) { return &r.ID, &r.Year })
	fmt.Println(review.Of(123, 2012))
	fmt.Println(review.Under(123).All())
	fmt.Println(review.Under(123).Between(2010, 2012))
	fmt.Println(review.Between(100, 199))
	// Output:
	// 000123_2012
	// [000123_, 000123`)
	// [000123_2010, 000123_2012]
	// [000100_, 000199`)
}

// A RowKey of three fields. Ranges follow the order of the values.
func ExampleRow3() {
	type Line struct {
		Server string
		Day    time.Time
		Number int
	}
	line := keys.Row3(keys.Ordered(), keys.Date(), keys.Digits[int](4), func(l *Line) (*string, *time.Time, *int) { return &l.Server, &l.Day, &l.Number })
	day := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	fmt.Println(line.Of("web", day, 7))
	fmt.Println(line.Under("web").Before(day))
	fmt.Println(line.Under2("web", day).AtLeast(100))
	// Output:
	// web!_2026-11-16_0007
	// [web!_, web!_2026-11-16_)
	// [web!_2026-11-16_0100, web!_2026-11-16`)
}
