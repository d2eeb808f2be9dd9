package main

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// This file contains baselines (a) and (a1): package encoding/json and a struct of strings.

// orderJSON is an order as the JSON of the service contains it.
type orderJSON struct {
	PartitionKey, RowKey string
	Timestamp            string `json:",omitempty"`
	ETag                 string `json:"odata.etag,omitempty"`
	Name                 string
	Email                string
	Count                int32
	Total                string
	TotalType            string `json:"Total@odata.type"`
	Price                float64
	PriceType            string `json:"Price@odata.type"`
	Ratio                float64
	RatioType            string `json:"Ratio@odata.type"`
	Active               bool
	ID                   string
	IDType               string `json:"ID@odata.type"`
	Created              string
	CreatedType          string `json:"Created@odata.type"`
	Payload              string
	PayloadType          string `json:"Payload@odata.type"`
}

const edmTime = "2006-01-02T15:04:05.9999999Z"

// marshalJSON returns the JSON of an order.
func marshalJSON(o *order) ([]byte, error) {
	return json.Marshal(&orderJSON{
		PartitionKey: o.Customer, RowKey: rowKey(o.Number), Name: o.Name, Email: o.Email, Count: o.Count,
		Total: strconv.FormatInt(o.Total, 10), TotalType: "Edm.Int64",
		Price: o.Price, PriceType: "Edm.Double",
		Ratio: o.Ratio, RatioType: "Edm.Double",
		Active: o.Active,
		ID:     guidText(o.ID), IDType: "Edm.Guid",
		Created: o.Created.UTC().Format(edmTime), CreatedType: "Edm.DateTime",
		Payload: base64.StdEncoding.EncodeToString(o.Payload), PayloadType: "Edm.Binary",
	})
}

// unmarshalJSON sets the fields of an order from the JSON of the service or of the SDK, and parses
// its Timestamp.
func unmarshalJSON(b []byte, o *order) (err error) {
	var j orderJSON
	if err = json.Unmarshal(b, &j); err != nil {
		return err
	}
	o.Customer, o.Name, o.Email, o.Count, o.Price, o.Ratio, o.Active = j.PartitionKey, j.Name, j.Email, j.Count, j.Price, j.Ratio, j.Active
	if o.Number, err = strconv.Atoi(strings.TrimPrefix(j.RowKey, "order_")); err != nil {
		return err
	}
	if _, err = time.Parse(time.RFC3339Nano, j.Timestamp); err != nil {
		return err
	}
	if o.Created, err = time.Parse(time.RFC3339Nano, j.Created); err != nil {
		return err
	}
	if o.Total, err = strconv.ParseInt(j.Total, 10, 64); err != nil {
		return err
	}
	if o.ID, err = parseGUID(j.ID); err != nil {
		return err
	}
	o.Payload, err = base64.StdEncoding.DecodeString(j.Payload)
	return err
}
