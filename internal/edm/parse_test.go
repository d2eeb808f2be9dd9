package edm

import (
	"errors"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// TestInvalidDates: the 31st of a month with 30 days is an error, and not the first of the next month.
func TestInvalidDates(t *testing.T) {
	t.Parallel()
	type row struct{ T time.Time }
	p := newCodec(t, row{})
	for _, s := range []string{"2026-04-31T00:00:00Z", "2026-02-29T00:00:00Z", "2026-02-30T12:00:00.5Z", "1900-02-29T00:00:00Z", "2026-06-31T23:59:59.9999999Z", "2026-09-31T00:00:00Z", "2026-11-31T00:00:00Z",
		"2026-01-32T00:00:00Z", "2026-01-00T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-04-31T00:00:00+02:00"} {
		v, _, err := decode[row](p, `{"T@odata.type":"Edm.DateTime","T":"`+s+`"}`)
		var de *errs.DecodeError
		if !errors.As(err, &de) || de.Field != "T" {
			t.Errorf("%s: got %v, %v, want a *DecodeError of T", s, v.T, err)
		}
	}
	for _, s := range []string{"2024-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "2026-04-30T00:00:00Z", "2026-12-31T00:00:00Z"} {
		v, _, err := decode[row](p, `{"T@odata.type":"Edm.DateTime","T":"`+s+`"}`)
		if err != nil || v.T.Format(time.RFC3339) != s {
			t.Errorf("got %v, %v, want %s", v.T, err, s)
		}
	}
}
