package engine

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// pageRequest asks for one page of a query.
type pageRequest struct {
	table          *Table
	filter, choice string
	pk, rk         *string // the token at which the page begins
	size           int32
	deadline       time.Time // of the budget, or zero
}

// pageResponse is a page.
type pageResponse struct {
	body   []byte
	pk, rk *string // the token of the next page
}

var (
	errRepeated = &DecodeError{Reason: "the service repeats its continuation token, so the list would never end"}
	errTime     = errors.New("the time of the budget is over")
)

// send sends the request.
func (r *pageRequest) send(ctx context.Context) (p pageResponse, err error) {
	if !r.deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, r.deadline, errTime)
		defer cancel()
	}
	if p, err = r.respond(ctx); err != nil && context.Cause(ctx) == errTime {
		err = &Condition{ErrBudget, errTime}
	}
	return p, err
}

func (r *pageRequest) respond(ctx context.Context) (p pageResponse, err error) {
	t := r.table
	ctx, cancel := Bound(ctx, t.Options.ReadTimeout)
	defer cancel()
	var call wire.Call
	if t.tapped() {
		err = t.exchange(ctx, &call, &wire.Request{Method: http.MethodGet, Target: wire.List, Query: r.query()})
	} else {
		_, err = t.client.NewListEntitiesPager(r.options()).NextPage(call.Read(ctx))
	}
	t.responded(ctx, &call)
	if err = checkRead(&call, err); err != nil {
		return p, err
	}
	if call.SignedForPartitions() {
		t.shared.ranged.Store(true)
	}
	if _, _, rows := call.SignedRows(); rows {
		t.shared.rowsOnly.Store(true)
	}
	p.pk, p.rk = set(call.Header("X-Ms-Continuation-NextPartitionKey")), set(call.Header("X-Ms-Continuation-NextRowKey"))
	if (p.pk != nil || p.rk != nil) && same(p.pk, r.pk) && same(p.rk, r.rk) {
		return p, errRepeated
	}
	p.body, err = call.Body()
	return p, err
}

// options are those of the SDK's call.
func (r *pageRequest) options() *aztables.ListEntitiesOptions {
	o := &aztables.ListEntitiesOptions{Top: &r.size, NextPartitionKey: r.pk, NextRowKey: r.rk}
	if r.filter != "" {
		o.Filter = &r.filter
	}
	if r.choice != "" {
		o.Select = &r.choice
	}
	return o
}

// query is what the SDK makes of options.
func (r *pageRequest) query() url.Values {
	q := url.Values{"$top": {strconv.Itoa(int(r.size))}}
	if r.filter != "" {
		q.Set("$filter", r.filter)
	}
	if r.choice != "" {
		q.Set("$select", r.choice)
	}
	if r.pk != nil {
		q.Set("NextPartitionKey", *r.pk)
	}
	if r.rk != nil {
		q.Set("NextRowKey", *r.rk)
	}
	return q
}

// pageAhead is a page that is requested while the caller works on the one before it.
type pageAhead struct {
	cancel   context.CancelFunc
	done     chan struct{} // closed when the response is there
	response pageResponse
	err      error
}

// begin sends the request in a goroutine, which ends with the response or with stop.
func (r *pageRequest) begin(ctx context.Context) *pageAhead {
	ctx, cancel := context.WithCancel(ctx)
	a := &pageAhead{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.response, a.err = r.send(ctx)
	}()
	return a
}

// await waits for the response.
func (a *pageAhead) await() (pageResponse, error) {
	<-a.done
	a.cancel()
	return a.response, a.err
}

// stop cancels the request and waits until its goroutine has ended.
func (a *pageAhead) stop() {
	a.cancel()
	<-a.done
}

func same(a, b *string) bool { return a != nil && b != nil && *a == *b || a == nil && b == nil }

// set returns a token, nil for an empty one, which the service refuses.
func set(token string) *string {
	if token == "" {
		return nil
	}
	return &token
}
