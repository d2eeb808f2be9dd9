package account

import (
	"fmt"

	"github.com/aztablekit/aztablekit/table"
)

// wrong is the error of an argument.
func wrong(argument, reason string) error {
	return fmt.Errorf("account: %w", &table.ValueError{Field: argument, Reason: reason})
}
