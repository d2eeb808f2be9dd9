package transfer_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// TestFaultsOfOthers: what other tools have lost on the way, each in a round trip through an export, a CSV file and a JSON file.
func TestFaultsOfOthers(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string][]map[string]any{
		"special numbers become others (azure-storage-net#721)":           {{"A": math.NaN(), "B": math.Inf(1), "C": math.Inf(-1)}},
		"columns are those of the first row (data-movement#129)":          {{"A": "1"}, {"B": int32(2)}, {"C": true}},
		"a column changes its type (AzureStorageExplorer#8772)":           {{"A": int32(2)}, {"A": "2"}, {"A": 2.0}},
		"times are shifted or cut (azcopy#161, azcopy#1127)":              {{"A": time.Date(2026, 7, 1, 23, 59, 59, 999999900, time.UTC), "B": time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)}},
		"numbers are read back as texts (azure-sdk-for-net#43443)":        {{"A": int32(7), "B": int64(7), "C": 7.0, "D": "7"}},
		"64-bit numbers lose digits (AzureStorageExplorer#1382)":          {{"A": int64(1<<53 + 1), "B": int64(math.MinInt64), "C": int64(math.MaxInt64)}},
		"a text that looks like another type":                             {{"A": "true", "B": "2026-01-01T00:00:00Z", "C": "NaN", "D": "007", "E": "", "F": "Edm.Int32"}},
		"bytes, line breaks, separators and marks of the order of a file": {{"A": []byte{}, "B": []byte{0, 255}, "C": "a\r\nb", "D": "a,b;\"c\"", "E": "\ufeffx", "F": " x "}},
	} {
		s := storagetest.New(nil)
		from := tableOf(t, s, "source")
		testkit.NoError(t, from.Ensure(t.Context()))
		for i, properties := range rows {
			row := &table.Row{Key: keys.Raw("p", fmt.Sprint("r", i))}
			for name, v := range properties {
				testkit.NoError(t, row.Set(name, v))
			}
			_, err := from.Insert(t.Context(), row)
			testkit.NoError(t, err)
		}
		at := transfer.Folder(t.TempDir())
		_, err := transfer.Export(t.Context(), from, at, nil)
		testkit.NoError(t, err)
		var csv, json bytes.Buffer
		for file, write := range map[*bytes.Buffer]func(*bytes.Buffer) (int, error){
			&csv: func(b *bytes.Buffer) (int, error) {
				return transfer.WriteCSV(t.Context(), b, transfer.Of(from), &transfer.FileOptions{All: true})
			},
			&json: func(b *bytes.Buffer) (int, error) {
				return transfer.WriteJSON(t.Context(), b, transfer.Of(from), &transfer.FileOptions{All: true})
			},
		} {
			_, err := write(file)
			testkit.NoError(t, err)
		}
		for form, source := range map[string]transfer.Source{
			"export": transfer.Exported(at), "CSV": transfer.CSV(text(csv.String()), nil), "JSON": transfer.JSON(text(json.String())),
		} {
			target := strings.ToLower(form)
			_, err := transfer.Import(t.Context(), source, tableOf(t, s, target), nil)
			testkit.NoError(t, err)
			for i, r := range s.Rows(target) {
				want := s.Rows("source")[i]
				for _, p := range want.Properties {
					if got := r.Get(p.Name); fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", p.Value, p.Value) {
						t.Errorf("%s, by %s: got %s %T %v; want %T %v", name, form, p.Name, got, got, p.Value, p.Value)
					}
				}
				if len(r.Properties) != len(want.Properties) {
					t.Errorf("%s, by %s: got %v; want %v", name, form, r, want)
				}
			}
		}
	}
}
