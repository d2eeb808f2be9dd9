package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// status returns the HTTP status with which a server answers after an error of this library. The text of an error contains keys and
// names of tables: log it, and send clients a text of your own.
func status(err error) int {
	var limit *table.LimitError
	var value *table.ValueError
	var key *keys.KeyError
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, table.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, table.ErrExists): // and table.ErrTaken, of a unique value
		return http.StatusConflict
	case errors.Is(err, table.ErrChanged): // the client's ETag is old
		return http.StatusPreconditionFailed
	case errors.As(err, &limit), errors.As(err, &value), errors.As(err, &key):
		return http.StatusBadRequest
	case errors.Is(err, table.ErrUnreachable), errors.Is(err, table.ErrOutbox), errors.Is(err, table.ErrContended):
		return http.StatusServiceUnavailable // nothing was written: the client may try again
	}
	return http.StatusInternalServerError // also table.ErrUnknownOutcome: the client reads before it tries again
}

// A server maps errors to HTTP statuses.
func Example_httpStatus() {
	ctx := context.Background()
	staff := newTable(staffSchema)
	jones := employee{"Sales", 223, "Jones", 44}
	_, missing := staff.Get(ctx, staff.Key(jones))
	e, err := staff.Insert(ctx, &jones)
	_, twice := staff.Insert(ctx, &jones)
	_, other := staff.Update(ctx, e.Key, func(e *employee) error { e.Last = "Smith"; return nil })
	old := staff.Replace(ctx, e)
	_, invalid := staff.Insert(ctx, &employee{"Sales", -1, "Jones", 44})
	fmt.Println(status(missing), status(err), status(twice), status(other), status(old), status(invalid))
	// Output: 404 200 409 200 412 400
}
