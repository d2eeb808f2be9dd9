package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// This file measures what it costs by hand to do for orders all that the methods of a table
// promise: a bound of the time, an operation ID, keys and values within the limits of the service,
// and an entity with its key, its ETag, its time and the content that is stored.

// wholeFloors returns lines without goals.
func wholeFloors() []ratio {
	return []ratio{
		{"whole1", "Get / SDK + (b), by hand, as an entity (row1)", "", 0, noMemory, 0, wholeGets},
		{"whole2", "page / SDK + (b), by hand, as entities (P14a, row2)", "", 0, noMemory, 0, wholePages},
		{"whole3", "Insert / SDK + (b), by hand, as an entity (row3)", "", 0, noMemory, 0, wholeInserts},
		{"whole4", "Replace / SDK + (b), by hand, as an entity (row4)", "", 0, noMemory, 0, wholeReplaces},
		{"whole5", "transaction / SDK + (b), by hand, as entities (P16, row5)", "", 0, noMemory, 0, wholeTransactions},
		{"whole6", "Delete / the call of the SDK, by hand, bounded (row10)", "", 0, noMemory, 0, wholeDeletes},
		{"whole7", "plain: Get / raw, by hand, as an entity (P8)", "", 0, noMemory, 0, wholePlainGets},
		{"whole8", "plain: transaction / raw, by hand, as entities (P12)", "", 0, noMemory, 0, wholePlainTransactions},
	}
}

// handEntity is what a method returns.
type handEntity struct {
	table.Entity[order]
	content []byte // of the row
}

var errChecked = errors.New("the order exceeds a limit")

// check checks the values of an order, and returns its key.
func (o *order) check() (keys.Key, error) {
	k := keys.At(keys.RawPartition(o.Customer), keys.RawRow(string((*handOrder)(o).appendRowKey(nil))))
	for _, s := range []string{o.Name, o.Email} {
		if !utf8.ValidString(s) || len(s) > 32<<10 {
			return k, errChecked
		}
	}
	if len(o.Payload) > 64<<10 || o.Created.Year() < 1601 {
		return k, errChecked
	}
	return k, k.Err()
}

// handID returns an operation ID as a GUID: the time, and 80 random bits.
func handID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(time.Now().UnixMilli())<<16)
	rand.Read(b[6:])
	id := hex.AppendEncode(make([]byte, 0, 36), b[:])
	return string(slices.Concat(id[:8], dash, id[8:12], dash, id[12:16], dash, id[16:20], dash, id[20:]))
}

var dash = []byte("-")

// withID returns the JSON of an order with an operation ID.
func (o *order) withID(id string) []byte {
	b := (*handOrder)(o).Append(make([]byte, 0, 640))
	b = append(b[:len(b)-1], `,"_op@odata.type":"Edm.Guid","_op":"`...)
	return append(append(b, id...), `"}`...)
}

// stored returns the entity of an order that was stored.
func (o *order) stored(k keys.Key, etag string, content []byte) (*handEntity, error) {
	const from, length = len(`W/"datetime'`), len("2026-11-20T23%3A47%3A59.0152163Z")
	if len(etag) != etagLength {
		return nil, expectETag(etag, nil)
	}
	text, err := url.PathUnescape(etag[from : from+length])
	if err != nil {
		return nil, err
	}
	at, err := parseTime([]byte(text))
	return &handEntity{table.Entity[order]{Value: *o, Key: k, ETag: azcore.ETag(etag), Timestamp: at}, content}, err
}

// bounded sends a request within the time that a method takes at most.
func (h byHand) bounded(q *wire.Request) (body []byte, etag string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return h.sendWith(ctx, q)
}

func wholeGets() (pair, error) {
	return handPair(gets(ordersOf, unmarshalEDM), 100, func(h byHand) func() error {
		of := newOrder(42)
		return func() error {
			k, err := of.check()
			if err != nil {
				return err
			}
			body, etag, err := h.bounded(&wire.Request{Method: http.MethodGet, PartitionKey: k.PartitionKey(), RowKey: k.RowKey()})
			if err != nil {
				return err
			}
			var o order
			if err := (&hand{b: body}).order(&o); err != nil || o.Name != of.Name || o.Number != of.Number {
				return fmt.Errorf("got order %+v, error %w; want order %d", o, err, of.Number)
			}
			_, err = o.stored(k, etag, body)
			return err
		}
	})()
}

func wholePages() (pair, error) {
	return handPair(pages(ordersOf, unmarshalAll), pageSize, func(h byHand) func() error {
		return func() error {
			body, _, err := h.bounded(&wire.Request{Method: http.MethodGet, Target: wire.List, Query: url.Values{"$filter": {ordersFilter}, "$top": {"1000"}}})
			if err != nil {
				return err
			}
			all := make([]*handEntity, 0, pageSize)
			err = eachOfPage(body, func(o *order, etag string, json []byte) error {
				k, err := o.check()
				if err != nil {
					return err
				}
				e, err := o.stored(k, etag, append([]byte(nil), json...)) // an entity that is kept does not hold its page
				all = append(all, e)
				return err
			})
			if err != nil {
				return err
			}
			return expect("entities of a page", len(all), pageSize)
		}
	})()
}

func wholeInserts() (pair, error) {
	o := newOrder(1)
	return handPair(inserts, 0, func(h byHand) func() error {
		return func() error {
			return h.writeWhole(&o, &wire.Request{Method: http.MethodPost, Target: wire.Table, NoEcho: true})
		}
	})()
}

func wholeReplaces() (pair, error) {
	o := newOrder(0)
	return handPair(replaces, 1, func(h byHand) func() error {
		return func() error {
			return h.writeWhole(&o, &wire.Request{Method: http.MethodPut, Match: string(azcore.ETagAny)})
		}
	})()
}

// writeWhole sends a write of an order.
func (h byHand) writeWhole(o *order, q *wire.Request) error {
	k, err := o.check()
	if err != nil {
		return err
	}
	q.PartitionKey, q.RowKey, q.Entity = k.PartitionKey(), k.RowKey(), o.withID(handID())
	_, etag, err := h.bounded(q)
	if err == nil {
		_, err = o.stored(k, etag, q.Entity)
	}
	return err
}

func wholeDeletes() (pair, error) {
	o := newOrder(0)
	return handPair(deletes, 1, func(h byHand) func() error {
		return func() error {
			k, err := o.check()
			if err == nil {
				_, _, err = h.bounded(&wire.Request{Method: http.MethodDelete, PartitionKey: k.PartitionKey(), RowKey: k.RowKey(), Match: string(azcore.ETagAny)})
			}
			return err
		}
	})()
}

func wholeTransactions() (pair, error) {
	const n = 100
	all := newOrders(n)
	return handPair(transactions(ordersOf, encodeEDM), n, func(h byHand) func() error {
		return func() error {
			id := handID()
			known, contents := make([]keys.Key, n), make([][]byte, n)
			for i := range all {
				k, err := all[i].check()
				if err != nil {
					return err
				}
				known[i], contents[i] = k, all[i].withID(id)
			}
			body, _, err := h.bounded(&wire.Request{Method: http.MethodPost, Target: wire.Batch, Transaction: func(u *url.URL) (io.ReadSeeker, string) {
				w := wire.NewBatchWriter(u, tableName, n)
				for i, k := range known {
					w.Update(http.MethodPut, k.PartitionKey(), k.RowKey(), "", contents[i], "")
				}
				return w.Finish()
			}})
			if err != nil {
				return err
			}
			etags, _, err := wire.ParseBatchResponse(body, n)
			for i := range etags {
				if err == nil {
					_, err = all[i].stored(known[i], string(etags[i]), contents[i])
				}
			}
			return err
		}
	})()
}

// wholePlainGets is wholeGets of a client without the tap.
func wholePlainGets() (pair, error) {
	of := newOrder(42)
	return plainPair(gets(plainOrders, nil), func(c *aztables.Client) func() error {
		return func() error {
			k, err := of.check()
			if err != nil {
				return err
			}
			o, etag, body, err := plainGet(c, k.PartitionKey(), k.RowKey())
			if err == nil {
				_, err = o.stored(k, etag, body)
			}
			return err
		}
	})
}

// wholePlainTransactions is wholeTransactions of a client without the tap.
func wholePlainTransactions() (pair, error) {
	const n = 100
	all := newOrders(n)
	return plainPair(transactions(plainOrders, encoded()), func(c *aztables.Client) func() error {
		return func() error { return plainTransaction(c, all) }
	})
}

func plainTransaction(c *aztables.Client, all []order) error {
	n := len(all)
	id, known, actions := handID(), make([]keys.Key, n), make([]aztables.TransactionAction, n)
	for i := range all {
		k, err := all[i].check()
		if err != nil {
			return err
		}
		known[i], actions[i] = k, aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertReplace, Entity: all[i].withID(id)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var call wire.Call
	if _, err := c.SubmitTransaction(call.Write(ctx, handTimeout), actions, nil); err != nil {
		return err
	}
	body, err := call.Body()
	if err != nil {
		return err
	}
	etags, _, err := wire.ParseBatchResponse(body, n)
	for i := range etags {
		if err == nil {
			_, err = all[i].stored(known[i], string(etags[i]), actions[i].Entity)
		}
	}
	return err
}
