package main

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
)

// CrashingAccount returns the account of a program that crashes after the response to its n-th transaction: no request of the program is
// sent any more, and the next one calls crash.
func (r *Run) CrashingAccount(n int, crash func()) (*account.Account, error) {
	return r.service.open(&crashAfter{transaction: int64(n), crash: crash})
}

type crashAfter struct {
	transaction int64
	begun       atomic.Int64 // transactions
	crashed     atomic.Bool
	crash       func()
}

var errCrashed = errors.New("the program has crashed")

// Do implements policy.Policy. The answer of the last transaction is still returned.
func (c *crashAfter) Do(r *policy.Request) (*http.Response, error) {
	if c.crashed.Load() {
		c.crash()
		return nil, errCrashed
	}
	last := strings.HasSuffix(r.Raw().URL.Path, "$batch") && c.begun.Add(1) == c.transaction
	res, err := r.Next()
	if last {
		c.crashed.Store(true)
	}
	return res, err
}
