package eventual

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// failures are the errors of messages, by their IDs, as of their latest executions.
type failures map[string]error

// note notes the error of a message, or that its latest execution had none.
func (f *failures) note(id string, err error) {
	if err == nil {
		delete(*f, id)
		return
	}
	if *f == nil {
		*f = failures{}
	}
	(*f)[id] = err
}

// mostFailures bounds the text of Drain's error.
const mostFailures = 100

// err returns the errors joined, nil if there are none.
func (f failures) err() error {
	if len(f) == 0 {
		return nil
	}
	var all []error
	for _, id := range slices.Sorted(maps.Keys(f))[:min(len(f), mostFailures)] {
		all = append(all, f[id])
	}
	if more := len(f) - len(all); more > 0 {
		all = append(all, fmt.Errorf("and those of %d more messages", more))
	}
	return fmt.Errorf("eventual: Drain: %w", errors.Join(all...))
}
