// Package phonenumbers keeps the customers of cities, and gives the phone numbers of all of them one form, by as many workers as there are.
package phonenumbers

import (
	"context"
	"strings"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Customer is stored by city.
type Customer struct {
	City  string
	ID    int
	Phone string // as the customer wrote it, or in the form +41443600000
}

var (
	city  = keys.Partition(keys.Text(), func(c *Customer) *string { return &c.City })
	id    = keys.Row(keys.Digits[int](6), func(c *Customer) *int { return &c.ID })
	phone = table.FieldOf(func(c *Customer) *string { return &c.Phone })
)

// Customers are the customers of all cities.
type Customers struct {
	*aztablekit.Store
	Table   *table.Table[Customer]
	Cleanse *jobs.Job[Customer, string] // its argument is the country code
}

// Open declares the table and the job. worked, if set, is called after each page. Call Ensure of the result when the program starts. Programs that call Run
// share the jobs that any program has started.
func Open(acc aztablekit.Account, worked func(customers int) error, o *aztablekit.Options) *Customers {
	s := aztablekit.Open(acc, "customers", o)
	query := func(string) table.Query[Customer] { return table.Query[Customer]{PageSize: 100} } // what a crash may repeat
	cleanse := jobs.Rows("cleanse", query, func(ctx context.Context, s *jobs.Slice[Customer], page []*table.Entity[Customer], country string) error {
		// A customer who changes meanwhile has a number of the new form, or is refused: the page is repeated then.
		result, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for _, c := range page {
				if p := Normal(c.Value.Phone, country); p != c.Value.Phone && !yield(s.Table.MergeOp(c, phone.Set(p)), nil) {
					return
				}
			}
		}, nil)
		s.Count(0, result.Changed, 0)
		if err == nil && worked != nil {
			err = worked(len(page))
		}
		return err
	})
	return &Customers{s, aztablekit.Table(s, "customers", city, id, cleanse), cleanse}
}

// Normal returns a phone number in its one form, which Normal does not change: so a page may be worked on twice.
func Normal(number, country string) string {
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '+' {
			return r
		}
		return -1
	}, number)
	if national, is := strings.CutPrefix(digits, "0"); is {
		return country + national
	}
	return digits
}
