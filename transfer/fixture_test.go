package transfer_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// tableOf returns a handle of a table of rows of any type, whose requests are sent once.
func tableOf(t testing.TB, s *storagetest.Service, name string) *table.Table[table.Row] {
	t.Helper()
	o := &table.Options{}
	o.Retry.Wait = -1
	acc, err := account.FromTransport(s, nil)
	testkit.NoError(t, err)
	rows, err := bare.NewTable(acc.Tables(), name, table.Schema[table.Row]{}, o)
	testkit.NoError(t, err)
	return rows
}

// filled returns an account with a table of rows, one for each JSON without its keys.
func filled(t testing.TB, name string, rows ...string) *storagetest.Service {
	t.Helper()
	s := storagetest.New(nil)
	fill(t, s, name, rows...)
	return s
}

// fill stores rows in a table, and creates it unless it exists.
func fill(t testing.TB, s *storagetest.Service, name string, rows ...string) {
	t.Helper()
	testkit.NoError(t, tabledoor.Ensure(t.Context(), tableOf(t, s, name)))
	var actions []aztables.TransactionAction
	last := ""
	send := func() {
		if len(actions) > 0 {
			_, err := s.Tables().NewClient(name).SubmitTransaction(t.Context(), actions, nil)
			testkit.NoError(t, err)
		}
		actions = nil
	}
	for _, r := range rows {
		pk, _, _ := strings.Cut(r, `,"RowKey"`)
		if pk != last || len(actions) == 100 {
			send()
		}
		last = pk
		actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: []byte(r)})
	}
	send()
}

// jsonRow returns a row as JSON.
func jsonRow(pk, rk, properties string) string {
	b := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q`, pk, rk)
	if properties != "" {
		b += "," + properties
	}
	return b + "}"
}

// manyRows returns rows of several partitions.
func manyRows(partitions, each int) (all []string) {
	for p := range partitions {
		for i := range each {
			all = append(all, jsonRow(fmt.Sprintf("p%04d", p), fmt.Sprintf("r%05d", i), fmt.Sprintf(`"N":%d,"Name":"name %d"`, i, i%7)))
		}
	}
	return all
}

// unusualRows returns rows with the values that other tools have lost: numbers without a finite value, 64-bit numbers that a Double does
// not have, times to 100 ns, texts that look like numbers, keys with quotes and characters of all scripts, large values, and rows of this library.
func unusualRows() []string {
	typed := func(name, typ, value string) string {
		return fmt.Sprintf(`%q:%s,"%s@odata.type":"Edm.%s"`, name, value, name, typ)
	}
	all := []string{
		jsonRow("'p'", "NaN", typed("X", "Double", `"NaN"`)),
		jsonRow("'p'", "NaN+", typed("X", "Double", `"Infinity"`)+","+typed("Y", "Double", `"-Infinity"`)),
		jsonRow("'p'", "double", typed("X", "Double", "3.0")+","+typed("Y", "Double", "0.1")+","+typed("Z", "Double", fmt.Sprint(math.MaxFloat64))),
		jsonRow("'p'", "int64", typed("X", "Int64", fmt.Sprintf(`"%d"`, int64(math.MaxInt64)))+","+typed("Y", "Int64", fmt.Sprintf(`"%d"`, int64(math.MinInt64)))+","+typed("Z", "Int64", `"9007199254740993"`)),
		jsonRow("'p'", "text", `"X":"007","Y":"","Z":"1e5","T":"2026-01-02T03:04:05Z","Quotes":"\"'<>&\\\n\u0001\u2028"`),
		jsonRow("'p'", "time", typed("X", "DateTime", `"2026-01-02T03:04:05.1234567Z"`)+","+typed("Y", "DateTime", `"1601-01-01T00:00:00Z"`)),
		jsonRow("'p'", "types", typed("B", "Binary", `"AAEC/w=="`)+","+typed("G", "Guid", `"01234567-89ab-cdef-0123-456789abcdef"`)+`,"T":true,"F":false,"N":-5`),
		jsonRow("", "", `"X":1`),
		jsonRow("p", "", `"X":"a row with an empty RowKey"`),
		jsonRow("p", " ", `"X":1`), jsonRow("p", "'", `"X":1`), jsonRow("p", "a b+c%d&e=f", `"X":1`), jsonRow("p", "ä€\U0001f600", `"X":1`), jsonRow("p", "\uffee", `"X":1`),
		jsonRow("p", strings.Repeat("k", 500), `"X":1`),
		jsonRow("large", "1", typed("B0", "Binary", `"`+strings.Repeat("AAEC", 16<<10)+`"`)+`,"S":"`+strings.Repeat("ä", 32<<10)+`"`),
		jsonRow("large", "2", typed("B0", "Binary", `"`+strings.Repeat("AAEC", 16<<10)+`"`)+`,"S":"`+strings.Repeat("ä", 32<<10)+`"`),
		jsonRow("p", "wide", manyProperties(252)),
		jsonRow("Sales", "empid_000001", typed("_op", "Guid", `"01234567-89ab-cdef-0123-456789abcdef"`)+`,"_life":"0123456789ABCDEF",`+typed("_ix", "Binary", `"MQ=="`)+`,"Last":"Jones"`),
		jsonRow("Sales", "last_Jones", `"_sys":"empid_000001","Last":"Jones"`),
		jsonRow("Sales", "~i|01J9ZZZZZZ0123456789ABCDEF", `"_v":1,"State":"pending","Effects":"[]"`),
		jsonRow("Sales", "~i|01J9ZZZZZZ0123456789ABCDEG", `"_v":1,"State":"done"`),
		jsonRow("Sales", "~t|01J9ZZZZZZ0123456789ABCDEF", `"_v":1`),
	}
	return all
}

func manyProperties(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"P%03d":%d`, i, i))
	}
	return strings.Join(all, ",")
}

// contentOf returns the rows of a table as text, with all types, and without times and ETags.
func contentOf(s *storagetest.Service, name string) (all []string) {
	for _, r := range s.Rows(name) {
		text := fmt.Sprintf("%q %q", r.PartitionKey, r.RowKey)
		for _, p := range r.Properties {
			text += fmt.Sprintf(" %s %s=%v", p.Name, p.Type, p.Value)
		}
		all = append(all, text)
	}
	return all
}

// expectSame compares two tables.
func expectSame(t testing.TB, s *storagetest.Service, name string, other *storagetest.Service, otherName string) {
	t.Helper()
	want, got := contentOf(s, name), contentOf(other, otherName)
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			t.Fatalf("got %d rows, want %d; the first that is missing: %.200s", len(got), len(want), want[i])
		case i >= len(want):
			t.Fatalf("got %d rows, want %d; the first besides: %.200s", len(got), len(want), got[i])
		case want[i] != got[i]:
			t.Fatalf("row %d: got %.300s; want %.300s", i, got[i], want[i])
		}
	}
}
