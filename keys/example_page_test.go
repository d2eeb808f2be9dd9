package keys_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// The code of docs/keys.md.
func Example_components() {
	at := time.Date(2026, 11, 16, 9, 30, 0, 0, time.UTC)
	day := at.Truncate(24 * time.Hour)
	type status string
	for _, k := range []keys.RowKey{
		keys.Digits[int](6).RowKey(223),           // 000223
		keys.Int[int](3).RowKey(-5),               // -994
		keys.Float[float64]().RowKey(2.5),         // c004000000000000
		keys.Bool().RowKey(true),                  // 1
		keys.Text().RowKey("Jones & Co"),          // Jones=20=26=20Co
		keys.Ordered().RowKey("Jones & Co"),       // Jones-20-26-20Co
		keys.Fold(keys.Text()).RowKey("JONES"),    // jones
		keys.Enum("open", "paid").RowKey("paid"),  // paid
		keys.TextOf[status]().RowKey("open"),      // open
		keys.OrderedOf[status]().RowKey("open"),   // open
		keys.Date().RowKey(day),                   // 2026-11-16
		keys.Time().RowKey(at),                    // 0639304182000000000
		keys.Desc(keys.Time()).RowKey(at),         // 2516074793999999999
		keys.Bytes().RowKey([]byte{1, 0xff}),      // 01ff
		keys.UUID[[16]byte]().RowKey([16]byte{1}), // 01000000-0000-0000-0000-000000000000
		keys.Spread(keys.Text(), 16).RowKey("jo"), // 06
	} {
		fmt.Println(k)
	}
	// Output:
	// 000223
	// -994
	// c004000000000000
	// 1
	// Jones=20=26=20Co
	// Jones-20-26-20Co
	// jones
	// paid
	// open
	// open
	// 2026-11-16
	// 0639304182000000000
	// 2516074793999999999
	// 01ff
	// 01000000-0000-0000-0000-000000000000
	// 06
}

func Example_map() {
	type month struct{ year, month int }
	months := keys.Map(keys.Digits[int](6),
		func(m month) int { return m.year*100 + m.month },
		func(n int) (month, error) { return month{n / 100, n % 100}, nil })
	fmt.Println(months.RowKey(month{2026, 11}))
	m, err := months.Decode("202611")
	fmt.Println(m, err)
	// Output:
	// 202611
	// {2026 11} <nil>
}

type logLine struct {
	Region, Server string
	Day            time.Time
	Number         int
	Email, Text    string
}

func Example_bound() {
	place := keys.Partition2(keys.Text(), keys.Text(), func(l *logLine) (*string, *string) { return &l.Region, &l.Server })
	line := keys.Row2(keys.Date(), keys.Digits[int](4), func(l *logLine) (*time.Time, *int) { return &l.Day, &l.Number })
	monday := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)

	k := keys.At(place.Of("eu", "web1"), line.Of(monday, 7)) // ('eu_web1','2026-11-16_0007')
	servers := place.Under("eu").Starting("web")             // the partitions of the servers web…
	week := line.Between(monday, monday.AddDate(0, 0, 6))    // the rows of a week
	first := line.Under(monday).AtMost(99)                   // the first hundred of a day
	day, number, err := line.Decode(k.Row())
	fmt.Println(k, servers, week, first, day.Weekday(), number, err)
	// Output: ('eu_web1','2026-11-16_0007') [eu_web, eu_wec) [2026-11-16_, 2026-11-22`) [2026-11-16_, 2026-11-16_0099] Monday 7 <nil>
}

func Example_three() {
	monday := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	line := keys.Row3(keys.Ordered(), keys.Date(), keys.Digits[int](4), func(l *logLine) (*string, *time.Time, *int) {
		return &l.Server, &l.Day, &l.Number
	})
	fmt.Println(line.Starting("web"))                  // the servers web…
	fmt.Println(line.Under("web1").AtLeast(monday))    // a server, from a day on
	fmt.Println(line.Under2("web1", monday).Before(9)) // the first lines of a day
	shard := keys.Partition3(keys.Text(), keys.Text(), keys.Date(), func(l *logLine) (*string, *string, *time.Time) {
		return &l.Region, &l.Server, &l.Day
	})
	fmt.Println(shard.Of("eu", "web1", monday), shard.Under2("eu", "web1").All())
	// Output:
	// [web, wec)
	// [web1!_2026-11-16_, web1!`)
	// [web1!_2026-11-16_, web1!_2026-11-16_0009)
	// eu_web1_2026-11-16 [eu_web1_, eu_web1`)
}

func Example_computed() {
	bucket := keys.PartitionFunc(keys.Spread(keys.Text(), 16), func(l *logLine) string { return l.Email })
	email := keys.RowFunc(keys.Fold(keys.Text()), func(l *logLine) string { return l.Email })
	fmt.Println(keys.At(bucket.Of("Jones@Contoso.com"), email.Of("Jones@Contoso.com")))
	// Output: ('12','jones@contoso.com')
}

func Example_ranges() {
	month := keys.Partition(keys.Ordered(), func(l *logLine) *string { return &l.Text })
	summer := month.AtLeast("202606").Intersect(month.Before("202609"))
	rest := summer.Behind(month.Of("202607")) // to continue work that has come to a partition
	fmt.Println(rest.Contains("202607"), rest.Contains("202608"))
	// Output: false true
}

func Example_errors() {
	err := keys.Text().RowKey(strings.Repeat("é", 200)).Err()
	var wrong *keys.KeyError
	if errors.As(err, &wrong) && wrong.Limit > 0 {
		fmt.Println(strconv.Itoa(wrong.Length-wrong.Limit)+" characters too many:", wrong.Component)
	}
	// Output: 88 characters too many: component 1, text
}
