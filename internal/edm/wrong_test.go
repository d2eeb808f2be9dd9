package edm

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestDaysThatAreNone: a day that its month does not have is no time, and not one of the next month.
func TestDaysThatAreNone(t *testing.T) {
	t.Parallel()
	type row struct{ T time.Time }
	p := newPlan(t, row{})
	for _, s := range []string{"2026-04-31T00:00:00Z", "2026-02-29T00:00:00Z", "2026-02-30T12:00:00.5Z", "1900-02-29T00:00:00Z", "2026-06-31T23:59:59.9999999Z", "2026-09-31T00:00:00Z", "2026-11-31T00:00:00Z",
		"2026-01-32T00:00:00Z", "2026-01-00T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-04-31T00:00:00+02:00"} {
		v, _, err := decode[row](p, `{"T@odata.type":"Edm.DateTime","T":"`+s+`"}`)
		var de *DecodeError
		if !errors.As(err, &de) || de.Field != "T" {
			t.Errorf("%s was read as %v, %v", s, v.T, err)
		}
	}
	for _, s := range []string{"2024-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "2026-04-30T00:00:00Z", "2026-12-31T00:00:00Z"} {
		v, _, err := decode[row](p, `{"T@odata.type":"Edm.DateTime","T":"`+s+`"}`)
		if err != nil || v.T.Format(time.RFC3339) != s {
			t.Errorf("%s was read as %v, %v", s, v.T, err)
		}
	}
}

// TestOverlayTypes: a merge that changes the type of a property leaves it once, as it sets it.
func TestOverlayTypes(t *testing.T) {
	t.Parallel()
	values := []string{`"A":5`, `"A":"5"`, `"A@odata.type":"Edm.Int64","A":"5"`, `"A":true`, `"A@odata.type":"Edm.Guid","A":"00000000-0000-0000-0000-000000000005"`}
	for _, old := range values {
		for _, set := range values {
			head := `{"PartitionKey":"p","RowKey":"r",`
			got, err := overlay(head+old+`,"B":1}`, head+set+"}")
			if want := head + `"B":1,` + set + "}"; got != want || err != nil {
				t.Errorf("%s over %s: %s, %v, want %s", set, old, got, err, want)
			}
		}
	}
}

// TestErrorTexts: each names what the caller wrote, the value, and the rule.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{&LimitError{Field: "Bio", Limit: "UTF-16 units", Got: 40000, Max: 32768}, "property Bio has 40000 UTF-16 units; at most 32768 are allowed"},
		{&LimitError{Limit: "properties of an entity", Got: 300, Max: 252}, "300 properties of an entity; at most 252 are allowed"},
		{&LimitError{Field: "Query.PageSize", Limit: "rows; the service requires 1 to 1000", Got: 5000, Max: 1000}, "Query.PageSize has 5000 rows; the service requires 1 to 1000"},
		{&LimitError{Field: `table name "hr"`, Limit: "characters; the service requires 3 to 63", Got: 2, Max: 63}, `table name "hr" has 2 characters; the service requires 3 to 63`},
		{&ValueError{Field: "service", Reason: "is nil"}, "service is nil"},
		{&ValueError{Field: "Query.Limit", Reason: "is -1"}, "Query.Limit is -1"},
		{&ValueError{Field: "queue", Reason: "is nil"}, "queue is nil"},
		{&ValueError{Field: "handlers[1]", Reason: "has no kind"}, "handlers[1] has no kind"},
		{&ValueError{Field: "Bio", Reason: "the text is not valid UTF-8"}, "property Bio: the text is not valid UTF-8"},
		{CheckName("a.b"), `property "a.b": the name may hold letters, digits and _, and begin with no digit; '.' is at byte 1`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
}

// TestKeptNumbers: what is read as one type of number is written as that where it fits.
func TestKeptNumbers(t *testing.T) {
	t.Parallel()
	type row struct {
		N int64
		F float64
	}
	p := newPlan(t, row{})
	for _, c := range []struct {
		stored string
		v      row
		want   string
	}{
		{`"N":5,"F":5`, row{6, 6}, `"N":6,"F":6`},
		{`"N":5,"F":5`, row{1 << 31, 5.5}, `"N@odata.type":"Edm.Int64","N":"2147483648","F@odata.type":"Edm.Double","F":5.5`},
		{`"N":5,"F@odata.type":"Edm.Int64","F":"5"`, row{-1 << 31, 1 << 53}, `"N":-2147483648,"F@odata.type":"Edm.Int64","F":"9007199254740992"`},
		{`"N":5,"F@odata.type":"Edm.Int64","F":"5"`, row{5, 1 << 63}, `"N":5,"F@odata.type":"Edm.Double","F":9.223372036854776e+18`},
		{`"N":5,"F":5000000000`, row{5, 5e9}, `"N":5,"F@odata.type":"Edm.Double","F":5e+09`}, // an emulator's whole double
		{`"X":5`, row{5, 5}, `"N@odata.type":"Edm.Int64","N":"5","F@odata.type":"Edm.Double","F":5`},
	} {
		w := NewWriter("p", "r", 0)
		p.Encode(w, reflect.ValueOf(&c.v).Elem(), Stored{JSON: []byte(`{"PartitionKey":"p","RowKey":"r",` + c.stored + `}`)})
		b, err := finish(w)
		if got := strings.TrimPrefix(string(b), `{"PartitionKey":"p","RowKey":"r",`); got != c.want+"}" || err != nil {
			t.Errorf("%v over %s: %s, %v, want %s", c.v, c.stored, got, err, c.want)
		}
	}
}

// TestKeysAreThere: what lacks a key is no entity.
func TestKeysAreThere(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{}`: PartitionKey, `{"RowKey":"r"}`: PartitionKey, `{"PartitionKey":"p"}`: RowKey, `{"PartitionKey":"p","RowKey":null}`: RowKey,
		`{"odata.error":{"code":"x"}}`: PartitionKey, `{"PartitionKey":null,"RowKey":"r"}`: PartitionKey, `{"partitionkey":"p","rowkey":"r"}`: PartitionKey,
	} {
		var de *DecodeError
		if e, err := NewReader([]byte(body)).One(); !errors.As(err, &de) || de.Field != field {
			t.Errorf("%s: %+v, %v", body, e, err)
		}
		n := 0
		if err := NewReader([]byte(`{"value":[` + body + `]}`)).Page(func(Entity) bool { n++; return true }); !errors.As(err, &de) || n != 0 {
			t.Errorf("a page of %s: %d entities, %v", body, n, err)
		}
	}
	if e, err := NewReader([]byte(`{"PartitionKey":"","RowKey":""}`)).One(); err != nil {
		t.Errorf("empty keys are keys: %+v, %v", e, err)
	}
}
