package account

import (
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/table"
)

// ErrNoEndpoint means that the account was opened without an endpoint for the service.
var ErrNoEndpoint = errors.New("account: the account was opened without an endpoint for this service; set it in Endpoints or in the connection string")

// ErrNoKey means that the account was opened without its key, which a shared access signature requires.
var ErrNoKey = errors.New("account: the account was opened without its key and cannot sign; use FromConnectionString with AccountKey")

// wrong is the error of an argument.
func wrong(argument, reason string) error {
	return fmt.Errorf("account: %w", &table.ValueError{Field: argument, Reason: reason})
}
