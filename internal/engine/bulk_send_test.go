package engine

import (
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/testkit"
)

// TestBlamed: an operation or a size is blamed for a refused transaction. For an unknown outcome,
// none is, whatever its cause: the transaction must not be sent again in parts.
func TestBlamed(t *testing.T) {
	t.Parallel()
	one, large := &errs.BatchError{Index: 1, Err: errs.ErrExists}, &errs.LimitError{Limit: "bytes", Got: 2, Max: 1}
	for what, c := range map[string]struct {
		err    error
		failed *errs.BatchError
		large  *errs.LimitError
	}{
		"an operation":                 {one, one, nil},
		"a size":                       {large, nil, large},
		"no operation":                 {&errs.BatchError{Index: -1, Err: errs.ErrExists}, nil, nil},
		"an outbox":                    {errs.With(errs.ErrOutbox, large), nil, nil},
		"an unknown outcome":           {&errs.UnknownError{Err: errors.New("connection broken")}, nil, nil},
		"an unknown outcome by a size": {&errs.UnknownError{Err: large}, nil, nil},
	} {
		failed, size := blamed(&errs.OpError{Op: "Bulk", Err: c.err})
		testkit.Expect(t, what+": operation", failed, c.failed)
		testkit.Expect(t, what+": size", size, c.large)
	}
}
