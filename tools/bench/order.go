package main

import (
	"bytes"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// order is the entity of the measurements: ten properties of all types.
type order struct {
	Customer string // the PartitionKey
	Number   int    // the RowKey

	Name    string
	Email   string
	Count   int32
	Total   int64
	Price   float64
	Ratio   float64
	Active  bool
	ID      [16]byte
	Created time.Time
	Payload []byte
}

const (
	customer = "customer" // the PartitionKey of all orders
	pageSize = 1000       // the number of orders of a page
)

// orderSchema binds the keys.
func orderSchema() table.Schema[order] {
	return table.Schema[order]{
		Partition: keys.Partition(keys.Text(), func(o *order) *string { return &o.Customer }),
		Row:       keys.Row(keys.Digits[int](6).Named("order"), func(o *order) *int { return &o.Number }),
	}
}

// rowKey returns the RowKey of an order, for the baselines.
func rowKey(number int) string { return fmt.Sprintf("order_%06d", number) }

// newOrder returns the i-th order of the customer.
func newOrder(i int) order {
	o := order{
		Customer: customer, Number: i,
		Name:    fmt.Sprintf("Widget number %d, large and blue", i),
		Email:   fmt.Sprintf("user%d@example.com", i),
		Count:   int32(i * 7),
		Total:   9007199254740993 + int64(i),
		Price:   float64(i) + 0.99,
		Ratio:   1 / float64(i+3),
		Active:  i%2 == 0,
		Created: time.Date(2024, 5, 6, 7, 8, 9, 123456700, time.UTC).Add(time.Duration(i) * time.Second),
		Payload: bytes.Repeat([]byte{byte(i), 2, 3, 250}, 16),
	}
	copy(o.ID[:], fmt.Sprintf("%016d", i))
	return o
}

// newOrders returns the first n orders of the customer.
func newOrders(n int) []order {
	all := make([]order, n)
	for i := range all {
		all[i] = newOrder(i)
	}
	return all
}

// checkOrders returns an error if the orders are not the first n.
func checkOrders(all []order, n int, err error) error {
	if err == nil && (len(all) != n || all[n-1].Number != n-1 || all[n-1].Total != 9007199254740993+int64(n-1) || len(all[n-1].Payload) != 64) {
		err = fmt.Errorf("got %d orders, want the first %d", len(all), n)
	}
	return err
}
