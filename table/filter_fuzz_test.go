package table_test

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var quoted = regexp.MustCompile(`'(?:[^']|'')*'`)

// filterForm is the form of the fuzzed filter. A double is also compared with the whole numbers that other clients store in
// its place.
var (
	filterForm = regexp.MustCompile(`^PartitionKey eq T and RowKey eq T and \(\(S eq T\) or \(not \(\(N lt N\) and \(F ge N( or F ge N)?( or \(not \(F le N or F gt N\)\) and \(F ge NL\))?\)\)\)\)$`)
	operators  = regexp.MustCompile(` (eq|lt|le|gt|ge) `)
)

// FuzzFilter: the filter has the same form for all keys and values, and contains each text as it was given.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{"Jones", "x' or PartitionKey ne 'z", "''", "'", `"\`, "%27", "日本", "\n) or ("} {
		f.Add(s, s, int32(5), 0.5)
	}
	type row struct {
		S string
		N int32
		F float64
	}
	s := table.FieldOf(func(r *row) *string { return &r.S })
	n := table.FieldOf(func(r *row) *int32 { return &r.N })
	d := table.FieldOf(func(r *row) *float64 { return &r.F })
	tab, err := bare.NewTable(sdkClient(f, &fakeTransport{}), "ttt", table.Schema[row]{}, singleAttempt())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, pk, text string, i int32, x float64) {
		q := table.Query[row]{Partition: keys.RawPartition(pk), Rows: keys.RawRow("r").Point(), Where: table.Or(s.Eq(text), table.Not(table.And(n.Lt(i), d.Ge(x))))}
		ex, err := tab.Explain(q)
		if err != nil {
			return // an invalid key or value
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Errorf("%v: got the filter %s; want an error", x, ex.Filter)
		}
		texts := quoted.FindAllString(ex.Filter, -1)
		form := regexp.MustCompile(`-?[0-9]+\.?[0-9]*`).ReplaceAllString(quoted.ReplaceAllString(ex.Filter, "T"), "N")
		if !filterForm.MatchString(form) || ex.Comparisons != len(operators.FindAllString(form, -1)) {
			t.Fatalf("got %s; want filterForm.MatchString(form) and ex.Comparisons == %v", ex.Filter, len(operators.FindAllString(form, -1)))
		}
		for k, want := range []string{pk, "r", text} {
			if got := strings.ReplaceAll(texts[k][1:len(texts[k])-1], "''", "'"); got != want {
				t.Errorf("got %q became %s; want %q", want, texts[k], want)
			}
		}
	})
}
