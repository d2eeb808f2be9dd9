package logtail

import (
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// periodRow is the row of a period.
type periodRow struct {
	Unit   string
	Digits string
	State  State
	From   time.Time `table:"-"` // by Digits
}

var (
	periodUnit   = keys.Tuple1(keys.Text()).Named("periods")
	periodDigits = keys.Tuple1(keys.Text())
	periodSchema = table.Schema[periodRow]{
		Partition: keys.Bind1(periodUnit, func(r *periodRow) *string { return &r.Unit }),
		Row:       keys.Bind1(periodDigits, func(r *periodRow) *string { return &r.Digits }),
		Type:      "period",
	}
)
