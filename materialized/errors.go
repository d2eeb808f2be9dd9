package materialized

import (
	"errors"
	"fmt"
)

// ErrTaken: two entities have one derived entity. The first keeps it. The message of the second becomes poison after
// eventual.WorkerOptions.Attempts attempts, and [Verify] reports it, until one of the two changes.
var ErrTaken = errors.New("another entity has this derived entity")

// DefinitionError is the error of a view that is defined or attached wrongly, or whose function cannot be called.
type DefinitionError struct {
	View   string
	Field  string // the argument or option
	Reason string
}

func (e *DefinitionError) Error() string {
	return fmt.Sprintf("view %q: %s: %s", e.View, e.Field, e.Reason)
}
