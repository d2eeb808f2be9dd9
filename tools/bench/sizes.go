package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/aztablekit/aztablekit/storagetest"
)

// This file compares the cost of point operations of storagetest by the number of rows.

// smallTable is the number of rows of the baseline.
const smallTable = 1_000

// sizes returns the lines of point operations in a table of so many rows: in one partition, and in
// a partition each.
func sizes(rows int) (lines []line) {
	for i, l := range []struct {
		what string
		many bool
		side func(filled) (func() error, error)
	}{
		{"point read", false, filled.reads},
		{"replace", false, filled.replaces},
		{"insert and delete", false, filled.inserts},
		{"point read", true, filled.reads},
		{"replace", true, filled.replaces},
		{"insert and delete", true, filled.inserts},
	} {
		where := "one partition"
		if l.many {
			where = "a partition for each row"
		}
		what := fmt.Sprintf("storagetest, %s: %d rows / %d rows, %s", l.what, rows, smallTable, where)
		lines = append(lines, line{"S" + strconv.Itoa(7+i), what, func(_ context.Context, s settings) (result, error) {
			var p pair
			for _, side := range []struct {
				rows int
				f    *func() error
			}{{rows, &p.ours}, {smallTable, &p.base}} {
				t, err := newFilled(side.rows, l.many)
				if err != nil {
					return result{}, err
				}
				if *side.f, err = l.side(t); err != nil {
					return result{}, err
				}
			}
			times, err := compare(p, s)
			return result{Value: figure{Got: times.median, Goal: 2, Bound: atMost, Unit: "times"}, Low: times.low, High: times.high}, err
		}})
	}
	return lines
}

// filled is a table with rows.
type filled struct {
	service
	rows int
	many bool // a partition for each row
}

// newFilled fills a table.
func newFilled(rows int, many bool) (filled, error) {
	s := storagetest.New(&storagetest.Options{RequestLogSize: -1})
	table, err := newService(s.ConnectionString(), s)
	if err != nil {
		return filled{}, err
	}
	f := filled{table, rows, many}
	insert, err := f.request(http.MethodPost, "/"+f.table, "application/json", http.StatusNoContent)
	for n := 0; n < rows && err == nil; n++ {
		err = insert(f.entity(n))
	}
	return f, err
}

// keys returns the keys of row n. The rows are inserted in no order.
func (f filled) keys(n int) (partition, row string) {
	text := fmt.Sprintf("%08x", uint32(n)*2654435761)
	if f.many {
		return text, "r"
	}
	return "p", text
}

func (f filled) entity(n int) []byte {
	partition, row := f.keys(n)
	return fmt.Appendf(nil, `{"PartitionKey":"%s","RowKey":"%s","Name":"Jones","Count":5}`, partition, row)
}

func (f filled) path(n int) string {
	partition, row := f.keys(n)
	return fmt.Sprintf("/%s(PartitionKey='%s',RowKey='%s')", f.table, partition, row)
}

// each returns a function that calls send for one of a hundred rows after another, which are signed
// once.
func (f filled) each(method, contentType string, status int, body func(n int) []byte) (func() error, error) {
	var all []func() error
	for i := range 100 {
		n := i * f.rows / 100
		send, err := f.request(method, f.path(n), contentType, status)
		if err != nil {
			return nil, err
		}
		content := body(n)
		all = append(all, func() error { return send(content) })
	}
	next := 0
	return func() error { next++; return all[next%len(all)]() }, nil
}

func (f filled) reads() (func() error, error) {
	return f.each(http.MethodGet, "", http.StatusOK, func(int) []byte { return nil })
}

func (f filled) replaces() (func() error, error) {
	return f.each(http.MethodPut, "application/json", http.StatusNoContent, f.entity)
}

// inserts inserts a row and deletes it, so that the table keeps its size.
func (f filled) inserts() (func() error, error) {
	insert, err := f.request(http.MethodPost, "/"+f.table, "application/json", http.StatusNoContent)
	if err != nil {
		return nil, err
	}
	var all []func() error
	for i := range 100 {
		n := f.rows + i
		remove, err := f.request(http.MethodDelete, f.path(n), "", http.StatusNoContent)
		if err != nil {
			return nil, err
		}
		content := f.entity(n)
		all = append(all, func() error {
			if err := insert(content); err != nil {
				return err
			}
			return remove(nil)
		})
	}
	next := 0
	return func() error { next++; return all[next%len(all)]() }, nil
}
