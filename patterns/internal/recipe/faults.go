package recipe

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
)

// LimitedAccount returns an account that takes so many rows of transactions in half a second, and
// answers 503 to all further ones. refused returns how many transactions were refused since it was
// called last.
func (r *Run) LimitedAccount(rows int) (acc *account.Account, refused func() int, err error) {
	l := &limit{most: rows}
	acc, err = r.service.open(l)
	return acc, l.take, err
}

// limit is a small copy of what the service does: it refuses the requests that are too many.
type limit struct {
	most int

	mu      sync.Mutex
	took    []taken
	refused int
}

type taken struct {
	at   time.Time
	rows int
}

// Do implements policy.Policy.
func (l *limit) Do(r *policy.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Raw().URL.Path, "$batch") {
		return r.Next()
	}
	body, err := io.ReadAll(r.Body())
	if err == nil {
		err = r.RewindBody()
	}
	if err != nil {
		return nil, err
	}
	if l.takes(bytes.Count(body, []byte(" HTTP/1.1"))) {
		return r.Next()
	}
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Status: "503 Service Unavailable", Request: r.Raw(), Body: http.NoBody,
		Header: http.Header{"X-Ms-Error-Code": {"ServerBusy"}}}, nil
}

func (l *limit) takes(rows int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := rows
	for _, t := range l.took {
		if time.Since(t.at) < 500*time.Millisecond {
			sum += t.rows
		}
	}
	if sum > l.most {
		l.refused++
		return false
	}
	l.took = append(l.took, taken{time.Now(), rows})
	return true
}

func (l *limit) take() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.refused
	l.refused = 0
	return n
}

// CrashingAccount returns the account of a program that crashes after the response to its n-th
// transaction: no request of the program is sent any more, and the next one calls crash.
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
