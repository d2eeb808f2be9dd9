package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
)

// This file contains a decoder that is written by hand for orders: the fastest that a general codec
// can be compared with. It reads the JSON of the service, checks its syntax as far as it reads it,
// and knows no other type.

var errSyntax = errors.New("the JSON is not that of an order")

// hand reads JSON from the front to the end.
type hand struct {
	b    []byte
	i    int
	etag []byte // of the last order
}

// decodePage appends the orders of a page of a list.
func decodePage(b []byte, all []order) ([]order, error) {
	h := hand{b: b}
	err := h.page(func() error {
		all = append(all, order{})
		return h.order(&all[len(all)-1])
	})
	return all, err
}

// eachOfPage calls f with each order of a page, its ETag and its JSON.
func eachOfPage(b []byte, f func(o *order, etag string, json []byte) error) error {
	h := hand{b: b}
	return h.page(func() error {
		var o order
		from := h.i
		if err := h.order(&o); err != nil {
			return err
		}
		return f(&o, string(h.etag), b[from:h.i])
	})
}

// page reads a page. one reads one entity.
func (h *hand) page(one func() error) error {
	if !h.expect('{') {
		return errSyntax
	}
	for {
		name, ok := h.text()
		if !ok || !h.expect(':') {
			return errSyntax
		}
		if string(name) != "value" {
			if _, ok := h.text(); !ok {
				return errSyntax
			}
		} else if !h.expect('[') {
			return errSyntax
		} else {
			for more := h.peek() != ']'; more; more = h.expect(',') {
				if err := one(); err != nil {
					return err
				}
			}
			if !h.expect(']') {
				return errSyntax
			}
		}
		if h.expect('}') {
			return nil
		}
		if !h.expect(',') {
			return errSyntax
		}
	}
}

// order reads one entity.
func (h *hand) order(o *order) error {
	if !h.expect('{') {
		return errSyntax
	}
	for {
		name, ok := h.text()
		if !ok || !h.expect(':') {
			return errSyntax
		}
		var v []byte
		if h.peek() == '"' {
			v, ok = h.text()
		} else {
			v, ok = h.word()
		}
		if !ok {
			return errSyntax
		}
		if string(name) == "odata.etag" {
			h.etag = v
		} else if err := o.set(name, v); err != nil {
			return fmt.Errorf("property %s: %w", name, err)
		}
		if h.expect('}') {
			return nil
		}
		if !h.expect(',') {
			return errSyntax
		}
	}
}

// set sets the field of a property.
func (o *order) set(name, v []byte) (err error) {
	var n int64
	switch string(name) {
	case edm.PartitionKey:
		o.Customer = string(v)
	case edm.RowKey:
		o.Number, err = strconv.Atoi(string(bytes.TrimPrefix(v, []byte("order_"))))
	case "Name":
		o.Name = string(v)
	case "Email":
		o.Email = string(v)
	case "Count":
		n, err = strconv.ParseInt(string(v), 10, 32)
		o.Count = int32(n)
	case "Total":
		o.Total, err = strconv.ParseInt(string(v), 10, 64)
	case "Price":
		o.Price, err = strconv.ParseFloat(string(v), 64)
	case "Ratio":
		o.Ratio, err = strconv.ParseFloat(string(v), 64)
	case "Active":
		o.Active, err = strconv.ParseBool(string(v))
	case "ID":
		err = o.setID(v)
	case "Created":
		o.Created, err = parseTime(v)
	case "Timestamp":
		_, err = parseTime(v)
	case "Payload":
		o.Payload, err = base64.StdEncoding.AppendDecode(nil, v)
	}
	return err
}

// setID sets ID from the text of a GUID.
func (o *order) setID(v []byte) error {
	if len(v) != 36 {
		return errSyntax
	}
	at := 0
	for i := range o.ID {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			at++
		}
		high, low := hexDigit(v[at]), hexDigit(v[at+1])
		if high|low > 15 {
			return errSyntax
		}
		o.ID[i] = high<<4 | low
		at += 2
	}
	return nil
}

// parseTime reads a time as the service writes it, in UTC with up to 7 digits behind the second.
func parseTime(v []byte) (time.Time, error) {
	const layout = "2006-01-02T15:04:05"
	if len(v) <= len(layout) || v[4] != '-' || v[7] != '-' || v[10] != 'T' || v[13] != ':' || v[16] != ':' || v[len(v)-1] != 'Z' {
		return time.Time{}, errSyntax
	}
	year, ok := digits(v[:4])
	month, okMonth := digits(v[5:7])
	day, okDay := digits(v[8:10])
	hour, okHour := digits(v[11:13])
	minute, okMinute := digits(v[14:16])
	second, okSecond := digits(v[17:19])
	ok = ok && okMonth && okDay && okHour && okMinute && okSecond && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24 && minute < 60 && second < 60
	nanos := 0
	if rest := v[19 : len(v)-1]; len(rest) > 0 {
		var okRest bool
		nanos, okRest = digits(rest[1:])
		ok = ok && okRest && rest[0] == '.' && len(rest) <= 10
		for range 10 - len(rest) {
			nanos *= 10
		}
	}
	if !ok {
		return time.Time{}, errSyntax
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC), nil
}

// digits returns the number of a text of digits.
func digits(v []byte) (n int, ok bool) {
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// peek returns the next byte that is no space, 0 at the end.
func (h *hand) peek() byte {
	for h.i < len(h.b) {
		if c := h.b[h.i]; c > ' ' {
			return c
		}
		h.i++
	}
	return 0
}

// expect steps over the next byte if it is c.
func (h *hand) expect(c byte) bool {
	if h.peek() != c {
		return false
	}
	h.i++
	return true
}

// text reads a text. The result refers to the JSON, except for a text with escapes.
func (h *hand) text() ([]byte, bool) {
	if !h.expect('"') {
		return nil, false
	}
	n := bytes.IndexByte(h.b[h.i:], '"')
	if n < 0 {
		return nil, false
	}
	v := h.b[h.i : h.i+n]
	if bytes.IndexByte(v, '\\') < 0 {
		h.i += n + 1
		return v, true
	}
	return h.escaped()
}

// escaped reads a text with escapes, behind its opening quote.
func (h *hand) escaped() ([]byte, bool) {
	for i := h.i; i < len(h.b); i++ {
		switch h.b[i] {
		case '\\':
			i++
		case '"':
			s, err := strconv.Unquote(string(h.b[h.i-1 : i+1]))
			h.i = i + 1
			return []byte(s), err == nil
		}
	}
	return nil, false
}

// word reads a number, true, false or null.
func (h *hand) word() ([]byte, bool) {
	from := h.i
	for h.i < len(h.b) && h.b[h.i] != ',' && h.b[h.i] != '}' {
		h.i++
	}
	return h.b[from:h.i], h.i > from
}
