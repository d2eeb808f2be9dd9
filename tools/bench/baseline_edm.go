package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// This file contains baseline (b): aztables.EDMEntity, as the documentation of the SDK shows it,
// and a copy from or to the struct.

// marshalEDM returns the JSON of an order under a RowKey.
func marshalEDM(o *order, rowKey string) ([]byte, error) {
	return json.Marshal(aztables.EDMEntity{
		Entity: aztables.Entity{PartitionKey: o.Customer, RowKey: rowKey},
		Properties: map[string]any{
			"Name":    o.Name,
			"Email":   o.Email,
			"Count":   o.Count,
			"Total":   aztables.EDMInt64(o.Total),
			"Price":   o.Price,
			"Ratio":   o.Ratio,
			"Active":  o.Active,
			"ID":      aztables.EDMGUID(guidText(o.ID)),
			"Created": aztables.EDMDateTime(o.Created),
			"Payload": aztables.EDMBinary(o.Payload),
		},
	})
}

// unmarshalEDM sets the fields of an order from the JSON of the SDK.
func unmarshalEDM(b []byte, o *order) error {
	var e aztables.EDMEntity
	if err := json.Unmarshal(b, &e); err != nil {
		return err
	}
	var err error
	if o.Number, err = strconv.Atoi(strings.TrimPrefix(e.RowKey, "order_")); err != nil {
		return err
	}
	return setFromEDM(&e, o)
}

// unmarshalCopyEDM is unmarshalEDM for the copy of an order in an index, whose RowKey ends in that
// of the order.
func unmarshalCopyEDM(b []byte, o *order) error {
	var e aztables.EDMEntity
	if err := json.Unmarshal(b, &e); err != nil {
		return err
	}
	var err error
	if o.Number, err = strconv.Atoi(e.RowKey[strings.LastIndexByte(e.RowKey, '_')+1:]); err != nil {
		return err
	}
	return setFromEDM(&e, o)
}

// setFromEDM copies an entity of the SDK to an order, without its RowKey.
func setFromEDM(e *aztables.EDMEntity, o *order) error {
	p := e.Properties
	var err error
	o.Customer = e.PartitionKey
	o.Name, _ = p["Name"].(string)
	o.Email, _ = p["Email"].(string)
	o.Count, _ = p["Count"].(int32)
	total, _ := p["Total"].(aztables.EDMInt64)
	o.Total = int64(total)
	o.Price = doubleOf(p["Price"])
	o.Ratio = doubleOf(p["Ratio"])
	o.Active, _ = p["Active"].(bool)
	id, _ := p["ID"].(aztables.EDMGUID)
	if o.ID, err = parseGUID(string(id)); err != nil {
		return err
	}
	created, _ := p["Created"].(aztables.EDMDateTime)
	o.Created = time.Time(created)
	payload, _ := p["Payload"].(aztables.EDMBinary)
	o.Payload = payload
	return nil
}

// doubleOf returns a double: EDMEntity returns whole doubles as int32.
func doubleOf(x any) float64 {
	switch x := x.(type) {
	case float64:
		return x
	case int32:
		return float64(x)
	}
	return 0
}

// guidText returns the text of a GUID.
func guidText(id [16]byte) string {
	h := hex.EncodeToString(id[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// parseGUID returns the GUID of a text.
func parseGUID(s string) (id [16]byte, err error) {
	if len(s) != 36 {
		return id, fmt.Errorf("the GUID %q has %d characters, want 36", s, len(s))
	}
	_, err = hex.Decode(id[:], []byte(strings.ReplaceAll(s, "-", "")))
	return id, err
}
