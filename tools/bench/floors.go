package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// floors returns lines without goals. T20 is what it costs that the SDK decodes a page to maps and
// encodes it again. The others are what the SDK's smallest call costs with a codec that is written
// by hand for orders, without keys, entities, plans, limits and operation IDs; see also
// wholeFloors. A goal below its floor cannot be reached as long as requests pass through the SDK.
func floors() []ratio {
	return append([]ratio{
		{"floor1", "Get / raw, by hand (P13)", "", 0, noMemory, 0, handGets(nil)},
		{"floor2", "Get / SDK + (b), by hand (row1)", "", 0, noMemory, 0, handGets(unmarshalEDM)},
		{"floor3", "page of 1,000 / SDK + (b), by hand (P14a, row2)", "", 0, noMemory, 0, handPages},
		{"floor4", "Insert / SDK + (b), by hand (row3)", "", 0, noMemory, 0, handInserts},
		{"floor5", "Replace / SDK + (b), by hand (row4)", "", 0, noMemory, 0, handReplaces},
		{"floor6", "transaction of 100 / SDK + (b), by hand (P16, row5)", "", 0, noMemory, 0, handTransactions},
		{"floor7", "Delete / the call of the SDK, by hand (row10)", "", 0, noMemory, 0, handDeletes},
		{"floor8", "plain: Get / raw, by hand (P8)", "", 0, noMemory, 0, handPlainGets},
		{"floor9", "plain: SubmitTransaction of our bodies / raw (P12)", "", 0, noMemory, 0, handPlainTransactions},
		{"floor10", "encode one / (a), by hand (P7)", "", 0, noMemory, 0, handEncodes},
		{"floor11", "decode one / (a1), by hand (P2)", "", 0, noMemory, 0, handDecodes},
		{"T20", "the SDK's page of 1,000 / the library's", "", 0, noMemory, 0, swapped(pages(ordersOf, nil))},
	}, wholeFloors()...)
}

// swapped exchanges the two sides of a pair.
func swapped(of func() (pair, error)) func() (pair, error) {
	return func() (pair, error) {
		p, err := of()
		p.ours, p.base = p.base, p.ours
		return p, err
	}
}

func handGets(decode func([]byte, *order) error) func() (pair, error) {
	return handPair(gets(ordersOf, decode), 100, func(h byHand) func() error {
		want := newOrder(42).Name
		return func() error {
			got, err := h.get()
			if err == nil && got.Name != want {
				err = fmt.Errorf("got order %+v; want the name %s", got, want)
			}
			return err
		}
	})
}

func handPages() (pair, error) {
	return handPair(pages(ordersOf, unmarshalAll), pageSize, func(h byHand) func() error {
		return func() error {
			body, _, err := h.send(&wire.Request{Method: http.MethodGet, Target: wire.List, Query: url.Values{"$filter": {ordersFilter}, "$top": {"1000"}}})
			if err != nil {
				return err
			}
			all, err := decodePage(body, make([]order, 0, pageSize))
			return checkOrders(all, pageSize, err)
		}
	})()
}

func handInserts() (pair, error) {
	o := newOrder(1)
	return handPair(inserts, 0, func(h byHand) func() error {
		return func() error {
			_, etag, err := h.send(&wire.Request{Method: http.MethodPost, Target: wire.Table, NoEcho: true, Entity: handEncoded(&o)})
			return expectETag(etag, err)
		}
	})()
}

func handReplaces() (pair, error) {
	o := newOrder(0)
	return handPair(replaces, 1, func(h byHand) func() error {
		return func() error {
			_, etag, err := h.send(&wire.Request{Method: http.MethodPut, PartitionKey: o.Customer, RowKey: rowKey(o.Number), Match: string(azcore.ETagAny), Entity: handEncoded(&o)})
			return expectETag(etag, err)
		}
	})()
}

func handDeletes() (pair, error) {
	row := rowKey(0)
	return handPair(deletes, 1, func(h byHand) func() error {
		return func() error {
			_, _, err := h.send(&wire.Request{Method: http.MethodDelete, PartitionKey: customer, RowKey: row, Match: string(azcore.ETagAny)})
			return err
		}
	})()
}

func handTransactions() (pair, error) {
	const n = 100
	all := newOrders(n)
	return handPair(transactions(ordersOf, encodeEDM), n, func(h byHand) func() error {
		return func() error {
			body, _, err := h.send(&wire.Request{Method: http.MethodPost, Target: wire.Batch, Transaction: func(u *url.URL) (io.ReadSeeker, string) {
				w := wire.NewBatchWriter(u, tableName, n)
				for i := range all {
					w.Update(http.MethodPut, customer, rowKey(i), "", handEncoded(&all[i]), "")
				}
				return w.Finish()
			}})
			if err != nil {
				return err
			}
			etags, _, err := wire.ParseBatchResponse(body, n)
			if err != nil {
				return err
			}
			return expectETag(string(etags[n-1]), err)
		}
	})()
}

func handEncodes() (pair, error) {
	p, err := encodes(marshalJSON)()
	if err != nil {
		return pair{}, err
	}
	p.ours, err = encodesByHand()
	return p, err
}

// encodesLikeHand compares the encoder with the one that is written by hand.
func encodesLikeHand() (pair, error) {
	p, err := encodes(marshalJSON)()
	if err != nil {
		return pair{}, err
	}
	p.base, err = encodesByHand()
	return p, err
}

// encodesByHand encodes an order by hand.
func encodesByHand() (func() error, error) {
	o, got := newOrder(42), order{}
	if err := (&hand{b: handEncoded(&o)}).order(&got); err != nil || !reflect.DeepEqual(got, o) {
		return nil, fmt.Errorf("got order %+v, error %v; want %+v", got, err, o)
	}
	var kept []byte // so that it is allocated, as what is sent is
	return func() error { kept = handEncoded(&o); return expect("first byte of the JSON", int(kept[0]), '{') }, nil
}

func handDecodes() (pair, error) {
	k, err := newCodec(100)
	if err != nil {
		return pair{}, err
	}
	p, err := decodesOne(unmarshalJSON)()
	p.ours = func() error { var o order; return (&hand{b: k.oneOfSDK}).order(&o) }
	return p, err
}

// handPlainGets is Get of a client without the tap: the SDK's GetEntity, and a decoder by hand for
// the response that the pipeline has captured, since the SDK's own bytes have lost the points of
// doubles.
func handPlainGets() (pair, error) {
	return plainPair(gets(plainOrders, nil), func(c *aztables.Client) func() error {
		row := rowKey(42)
		return func() error { _, _, _, err := plainGet(c, customer, row); return err }
	})
}

// handPlainTransactions is the SDK's transaction of the bodies that the library sends, which have
// an operation ID, and the types of doubles: the SDK drops the points of whole ones.
func handPlainTransactions() (pair, error) {
	codec, err := edm.NewCodec(reflect.TypeFor[order](), [][]int{{0}, {1}})
	if err != nil {
		return pair{}, err
	}
	id := edm.Column{Name: reserved.OperationID, Value: edm.Value{Kind: edm.Guid}}.Ending()
	bodies := map[int][]byte{}
	encode := func(o *order) (b []byte, err error) {
		if b := bodies[o.Number]; b != nil {
			return b, nil
		}
		w := codec.TextWriter(customer, rowKey(o.Number))
		codec.Encode(w, reflect.ValueOf(o).Elem(), edm.Stored{})
		body, err := w.Finish()
		bodies[o.Number] = body.JSON(id)
		return bodies[o.Number], err
	}
	p, err := transactions(plainOrders, encoded())()
	if err != nil {
		return pair{}, err
	}
	with, err := transactions(plainOrders, encode)()
	p.ours = with.base
	return p, err
}
