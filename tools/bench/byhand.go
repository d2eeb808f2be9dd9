package main

import (
	"context"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// byHand sends requests of a program that is written by hand.
type byHand struct{ c *aztables.Client }

func newByHand(r *replay) (byHand, error) {
	acc, err := account.FromTransport(r, nil)
	if err != nil {
		return byHand{}, err
	}
	return byHand{acc.Tables().NewClient(tableName)}, nil
}

// send sends a request, and returns the body and the ETag of its response.
func (h byHand) send(q *wire.Request) (body []byte, etag string, err error) {
	return h.sendWith(context.Background(), q)
}

func (h byHand) sendWith(ctx context.Context, q *wire.Request) (body []byte, etag string, err error) {
	var call wire.Call
	if err := call.Exchange(ctx, h.c, q, handTimeout); err != nil {
		return nil, "", err
	}
	body, err = call.Body()
	return body, call.Header("ETag"), err
}

func (h byHand) get() (o order, err error) {
	body, _, err := h.send(&wire.Request{Method: http.MethodGet, PartitionKey: customer, RowKey: rowKey(42)})
	if err == nil {
		err = (&hand{b: body}).order(&o)
	}
	return o, err
}

// handPair returns the operation by hand beside the baseline of another pair.
func handPair(of func() (pair, error), orders int, ours func(byHand) func() error) func() (pair, error) {
	return func() (pair, error) {
		p, err := of()
		if err != nil {
			return pair{}, err
		}
		r := newReplay()
		if err := create(r, newOrders(orders)...); err != nil {
			return pair{}, err
		}
		h, err := newByHand(r)
		if err != nil {
			return pair{}, err
		}
		p.ours = ours(h)
		return p, p.ours()
	}
}

func expectETag(etag string, err error) error {
	if err != nil {
		return err
	}
	return expect("length of the ETag", len(etag), etagLength)
}

// plainPair returns the operation by hand, by a client without the tap, beside the baseline of
// another pair.
func plainPair(of func() (pair, error), ours func(*aztables.Client) func() error) (pair, error) {
	p, err := of()
	if err != nil {
		return pair{}, err
	}
	r := newReplay()
	if err := create(r, newOrders(100)...); err != nil {
		return pair{}, err
	}
	c, err := sdkTable(r)
	p.ours = ours(c)
	return p, err
}

// plainGet reads an order by a client without the tap.
func plainGet(c *aztables.Client, partitionKey, row string) (o order, etag string, body []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var call wire.Call
	got, err := c.GetEntity(call.Read(ctx), partitionKey, row, nil)
	if err == nil {
		body, err = call.Body()
	}
	if err == nil {
		err = (&hand{b: body}).order(&o)
	}
	return o, string(got.ETag), body, err
}
