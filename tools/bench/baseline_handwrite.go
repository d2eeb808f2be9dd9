package main

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"
)

// This file contains an encoder that is written by hand for orders. It checks no limits.

// handEncoded returns the JSON of an order.
func handEncoded(o *order) []byte { return (*handOrder)(o).Append(make([]byte, 0, 640)) }

// handOrder is an order that is encoded by hand.
type handOrder order

// Append appends the JSON of the order to b.
func (o *handOrder) Append(b []byte) []byte {
	b = append(b, `{"PartitionKey":"`...)
	b = append(b, o.Customer...)
	b = append(b, `","RowKey":"`...)
	b = o.appendRowKey(b)
	b = append(b, `","Name":"`...)
	b = append(b, o.Name...)
	b = append(b, `","Email":"`...)
	b = append(b, o.Email...)
	b = append(b, `","Count":`...)
	b = strconv.AppendInt(b, int64(o.Count), 10)
	b = append(b, `,"Total@odata.type":"Edm.Int64","Total":"`...)
	b = strconv.AppendInt(b, o.Total, 10)
	b = append(b, `","Price@odata.type":"Edm.Double","Price":`...)
	b = strconv.AppendFloat(b, o.Price, 'g', -1, 64)
	b = append(b, `,"Ratio@odata.type":"Edm.Double","Ratio":`...)
	b = strconv.AppendFloat(b, o.Ratio, 'g', -1, 64)
	b = append(b, `,"Active":`...)
	b = strconv.AppendBool(b, o.Active)
	b = append(b, `,"ID@odata.type":"Edm.Guid","ID":"`...)
	b = append(hex.AppendEncode(b, o.ID[:4]), '-')
	b = append(hex.AppendEncode(b, o.ID[4:6]), '-')
	b = append(hex.AppendEncode(b, o.ID[6:8]), '-')
	b = append(hex.AppendEncode(b, o.ID[8:10]), '-')
	b = hex.AppendEncode(b, o.ID[10:])
	b = append(b, `","Created@odata.type":"Edm.DateTime","Created":"`...)
	b = o.Created.UTC().AppendFormat(b, edmTime)
	b = append(b, `","Payload@odata.type":"Edm.Binary","Payload":"`...)
	b = base64.StdEncoding.AppendEncode(b, o.Payload)
	return append(b, `"}`...)
}

func (o *handOrder) appendRowKey(b []byte) []byte {
	b = append(b, "order_"...)
	for most := 100000; most > o.Number && most > 1; most /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, int64(o.Number), 10)
}

// handTimeout is the bound of one attempt, as the library's.
const handTimeout = 10 * time.Second
