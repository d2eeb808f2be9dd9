package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/aztablekit/aztablekit/internal/edm"
)

// This file measures the codec alone, without requests.

// codec contains the JSON of one order and of a page, as the service sends them and as the SDK
// returns them.
type codec struct {
	codec                *edm.Codec
	one, page            []byte // of the service
	oneOfSDK             []byte
	pageOfSDK            [][]byte
	partitionKey, rowKey string
	shapes               edm.Shapes
}

// newCodec reads n orders with the SDK.
func newCodec(n int) (*codec, error) {
	ctx := context.Background()
	r := newReplay()
	if err := create(r, newOrders(n)...); err != nil {
		return nil, err
	}
	c, err := sdkTable(r)
	if err != nil {
		return nil, err
	}
	e, err := c.GetEntity(ctx, customer, rowKey(42), nil)
	if err != nil {
		return nil, err
	}
	p, err := c.NewListEntitiesPager(nil).NextPage(ctx)
	if err != nil {
		return nil, err
	}
	k := &codec{oneOfSDK: e.Value, pageOfSDK: p.Entities, partitionKey: customer, rowKey: rowKey(42)}
	for _, got := range r.recorded {
		if bytes.Contains(got.body, []byte(`"value":[`)) {
			k.page = got.body
		} else {
			k.one = got.body
		}
	}
	k.codec, err = edm.NewCodec(reflect.TypeFor[order](), [][]int{{0}, {1}})
	return k, err
}

// decode sets an order from the entity that the reader read last.
func (k *codec) decode(r *edm.Reader, e edm.Entity, o *order) (err error) {
	o.Customer = e.PartitionKey
	if o.Number, err = strconv.Atoi(e.RowKey[len("order_"):]); err != nil {
		return err
	}
	return k.codec.Decode(r, reflect.ValueOf(o).Elem())
}

// decodeOne decodes a response of one entity.
func (k *codec) decodeOne(b []byte, o *order) error {
	r := k.shapes.Reader(b)
	defer r.Release()
	e, err := r.One()
	if err != nil {
		return err
	}
	return k.decode(r, e, o)
}

// decodePage decodes a response of a list.
func (k *codec) decodePage(b []byte) ([]order, error) {
	all := make([]order, 0, len(k.pageOfSDK))
	r := edm.NewReader(b)
	var failed error
	err := r.Page(func(e edm.Entity) bool {
		all = append(all, order{})
		failed = k.decode(r, e, &all[len(all)-1])
		return failed == nil
	})
	return all, errors.Join(err, failed)
}

// encode returns the JSON of an order.
func (k *codec) encode(o *order) ([]byte, error) {
	w := k.codec.TextWriter(k.partitionKey, k.rowKey)
	k.codec.Encode(w, reflect.ValueOf(o).Elem(), edm.Stored{})
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	return body.JSON(nil), nil
}

// decodesOne compares the decoder of one entity with another.
func decodesOne(base func([]byte, *order) error) func() (pair, error) {
	return func() (pair, error) {
		k, err := newCodec(100)
		if err != nil {
			return pair{}, err
		}
		want := newOrder(42)
		for _, decode := range []func([]byte, *order) error{k.decodeOne, base} {
			var got order
			if err := decode(k.oneOfSDK, &got); err != nil || !reflect.DeepEqual(got, want) {
				return pair{}, fmt.Errorf("got order %+v, error %v; want %+v", got, err, want)
			}
		}
		return pair{
			ours: func() error { var o order; return k.decodeOne(k.oneOfSDK, &o) },
			base: func() error { var o order; return base(k.oneOfSDK, &o) },
		}, nil
	}
}

// decodesPageLikeHand compares the decoder of a page with the one that is written by hand.
func decodesPageLikeHand() (pair, error) {
	return decodesPage(func(k *codec) ([]order, error) { return decodePage(k.page, make([]order, 0, pageSize)) })
}

// decodesPageLikeEDM compares the decoder of a page with baseline (b).
func decodesPageLikeEDM() (pair, error) {
	return decodesPage(func(k *codec) ([]order, error) { return unmarshalAll(k.pageOfSDK) })
}

// unmarshalAll is baseline (b) for the entities of a page.
func unmarshalAll(entities [][]byte) ([]order, error) {
	all := make([]order, len(entities))
	for i, b := range entities {
		if err := unmarshalEDM(b, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func decodesPage(base func(*codec) ([]order, error)) (pair, error) {
	k, err := newCodec(pageSize)
	if err != nil {
		return pair{}, err
	}
	ours := func() error {
		all, err := k.decodePage(k.page)
		return checkOrders(all, pageSize, err)
	}
	return pair{ours: ours, base: func() error {
		all, err := base(k)
		return checkOrders(all, pageSize, err)
	}, entities: pageSize}, nil
}

// encodes compares the encoder with another.
func encodes(base func(*order) ([]byte, error)) func() (pair, error) {
	return func() (pair, error) {
		k, err := newCodec(100)
		if err != nil {
			return pair{}, err
		}
		o := newOrder(42)
		encode := func(f func(*order) ([]byte, error)) func() error {
			return func() error { _, err := f(&o); return err }
		}
		for _, f := range []func(*order) ([]byte, error){k.encode, base} {
			var got order
			b, err := f(&o)
			if err != nil {
				return pair{}, err
			}
			if err := k.decodeOne(b, &got); err != nil || !reflect.DeepEqual(got, o) {
				return pair{}, fmt.Errorf("got order %+v, error %v; want %+v", got, err, o)
			}
		}
		return pair{ours: encode(k.encode), base: encode(base)}, nil
	}
}

// encodeEDM is baseline (b).
func encodeEDM(o *order) ([]byte, error) { return marshalEDM(o, rowKey(o.Number)) }
