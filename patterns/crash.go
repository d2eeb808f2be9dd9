package main

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
)

// CrashingAccount returns the account of a program that crashes before its transaction with a number: crash is called, and no request
// of the program is sent any more.
func (r *Run) CrashingAccount(transaction int, crash func()) (*account.Account, error) {
	return r.service.open(&crashBefore{transaction: int64(transaction), crash: crash})
}

type crashBefore struct {
	transaction  int64
	transactions atomic.Int64
	crash        func()
}

var errCrashed = errors.New("the program has crashed")

// Do implements policy.Policy.
func (c *crashBefore) Do(r *policy.Request) (*http.Response, error) {
	n := c.transactions.Load()
	if strings.HasSuffix(r.Raw().URL.Path, "$batch") {
		n = c.transactions.Add(1)
	}
	if n >= c.transaction {
		c.crash()
		return nil, errCrashed
	}
	return r.Next()
}
