// Package once lets an HTTP handler work once for each idempotency key: a client that sends a request again, because it got no response, gets the response of the first.
package once

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/table"
)

// Response is what a handler has answered to a customer's request with a key. It is kept for a day.
type Response struct {
	Customer, Key string
	Status        int
	Body          string
	Ends          time.Time
}

var (
	customer = keys.Partition(keys.Text(), func(r *Response) *string { return &r.Customer })
	key      = keys.Row(keys.Text().Named("response"), func(r *Response) *string { return &r.Key })
	ends     = expire.At(func(r *Response) time.Time { return r.Ends }, nil)
)

// Once is the responses of all customers.
type Once struct {
	*aztablekit.Store
	Responses *table.Table[Response]
	leases    *lease.Leases
}

// Open declares the tables. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Once {
	s := aztablekit.Open(acc, "once", o)
	return &Once{s, aztablekit.Table(s, "responses", customer, key, ends), lease.New(s, "leases", nil)}
}

// Do works for a customer's key, unless a response is stored: then it returns that. While one
// request of a customer is at work, others get a *lease.HeldError. The context of work ends when another
// program may take its place; a program that was asleep meanwhile stores no response:
// lease.ErrLost. work may be called again after a crash: what it changes in this partition it can
// return as operations, which are stored together with the response, or not at all. Requests: 1 if
// there is a response; otherwise 8, one less for the customer that this program has served last;
// and 1 for each 5 seconds of work.
func (o *Once) Do(ctx context.Context, of, with string, work func(context.Context) (status int, body string, ops []table.Op, err error)) (r *Response, err error) {
	at := keys.At(customer.Of(of), key.Of(with))
	if e, err := o.Responses.Get(ctx, at); !errors.Is(err, table.ErrNotFound) {
		return replayed(e, err)
	}
	err = o.leases.Try(ctx, "customer."+of, func(ctx context.Context, held *lease.Lease) error {
		guarded, err := held.In(ctx, o.Responses, customer.Of(of))
		if err != nil {
			return err
		}
		if e, err := o.Responses.Get(ctx, at); !errors.Is(err, table.ErrNotFound) { // of the holder before
			r, err = replayed(e, err)
			return err
		}
		status, body, ops, err := work(ctx)
		if err != nil {
			return err
		}
		r = &Response{of, with, status, body, time.Now().Add(24 * time.Hour)}
		_, err = table.Transact(ctx, append([]table.Op{guarded.Guard(), o.Responses.InsertOp(r)}, ops...)...)
		return err
	})
	return r, err
}

func replayed(e *table.Entity[Response], err error) (*Response, error) {
	if err != nil {
		return nil, err
	}
	return &e.Value, nil
}

// Handler answers requests with the headers Customer and Idempotency-Key, once for each key.
func (o *Once) Handler(work func(r *http.Request) (status int, body string, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := o.Do(r.Context(), r.Header.Get("Customer"), r.Header.Get("Idempotency-Key"), func(ctx context.Context) (int, string, []table.Op, error) {
			status, body, err := work(r.WithContext(ctx))
			return status, body, nil, err
		})
		switch {
		case errors.As(err, new(*lease.HeldError)):
			w.Header().Set("Retry-After", "1")
			http.Error(w, "another request of yours is at work", http.StatusConflict)
		case err != nil:
			http.Error(w, "please send the request again", http.StatusServiceUnavailable)
		default:
			w.WriteHeader(answer.Status)
			_, _ = w.Write([]byte(answer.Body))
		}
	})
}
