package integration

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"reflect"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

//go:embed exchange.js
var exchange string

// edmTypes has a property of each EDM type, as both languages write it.
type edmTypes struct {
	N     int
	Text  string
	Empty string
	Truth bool
	Int32 int32
	Half  float64
	Int64 int64
	Whole *float64
	Huge  *float64
	NaN   *float64
	When  time.Time
	ID    *[16]byte
	Bytes []byte
}

func typesSchema(partition string) table.Schema[edmTypes] {
	return table.Schema[edmTypes]{Partition: keys.OnePartition[edmTypes](partition), Row: keys.Row(keys.Digits[int](1), func(v *edmTypes) *int { return &v.N })}
}

// javascript runs one step of exchange.js on a table.
func (e *env) javascript(table, step string) []byte {
	e.Helper()
	return e.node(exchange, table, step)
}

// node runs one step of a JavaScript program on a table or a queue.
func (e *env) node(program, name, step string, more ...string) []byte {
	e.Helper()
	dir, err := azurite.Install(context.Background())
	e.must(err)
	cmd := exec.Command("node", "-e", program)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "CONNECTION="+e.backend.ConnectionString(), "TABLE="+name, "STEP="+step), more...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		e.Fatalf("node: got error %v; want none\n%s", err, errs.Bytes())
	}
	return out.Bytes()
}

// TestExchangeWithJavaScript: each language reads the EDM types that the other writes, with types and values.
func TestExchangeWithJavaScript(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs Node.js and a service")
	}
	t.Parallel()
	for _, b := range backends {
		t.Run(b.Name(), func(t *testing.T) {
			t.Run("theirs", func(t *testing.T) { t.Parallel(); readFromJavaScript(newEnv(t, b)) })
			t.Run("ours", func(t *testing.T) { t.Parallel(); readInJavaScript(newEnv(t, b)) })
		})
	}
}

var exchangedGUID = [16]byte{0xc9, 0xda, 0x64, 0x55, 0x21, 0x3d, 0x42, 0xc9, 0x9a, 0x79, 0x3e, 0x91, 0x49, 0xa5, 0x78, 0x33}

func readFromJavaScript(e *env) {
	tab := newTable(e, typesSchema("js"), nil)
	e.javascript(tab.Name(), "write")
	var got []edmTypes
	for v, err := range tab.List(context.Background(), table.Query[edmTypes]{}) {
		e.must(err)
		got = append(got, v.Value)
	}
	if len(got) != 2 {
		e.Fatalf("got %d rows; want 2", len(got))
	}
	whole, huge := 3.0, math.MaxFloat64
	if nan := got[0].NaN; nan == nil || !math.IsNaN(*nan) {
		e.Errorf("property NaN: got %v; want NaN", nan)
	}
	got[0].NaN = nil
	base := edmTypes{N: 1, Text: "é日😀 \"'\\", Truth: true, Int32: math.MinInt32, Half: 0.5}
	first := base
	first.Int64, first.Whole, first.Huge, first.ID, first.Bytes = 1<<53+1, &whole, &huge, &exchangedGUID, []byte{0, 1, 255}
	first.When = time.Date(2026, 11, 21, 1, 2, 3, 123456700, time.UTC)
	second := base
	second.N, second.Int64, second.When = 2, math.MinInt64, time.Date(2026, 11, 21, 1, 2, 3, 123e6, time.UTC)
	for i, want := range []edmTypes{first, second} {
		if !reflect.DeepEqual(got[i], want) {
			e.Errorf("read in Go: got\n%+v; want, as written by JavaScript,\n%+v", got[i], want)
		}
	}
}

func readInJavaScript(e *env) {
	tab := newTable(e, typesSchema("go"), nil)
	whole, huge, nan := 3.0, math.MaxFloat64, math.NaN()
	_, err := tab.Insert(context.Background(), &edmTypes{N: 1, Text: "é日😀 \"'\\", Truth: true, Int32: math.MaxInt32, Half: 0.5, Int64: 1<<53 + 1, Whole: &whole, Huge: &huge, NaN: &nan,
		When: time.Date(2026, 11, 21, 1, 2, 3, 123456700, time.UTC), ID: &exchangedGUID, Bytes: []byte{0, 1, 255}})
	e.must(err)
	var rows map[string][]map[string][2]string
	e.must(json.Unmarshal(e.javascript(tab.Name(), "read"), &rows))
	if len(rows["1"]) != 2 {
		e.Fatalf("got %v; want row 1 twice", rows)
	}
	// Each row is read twice: converted to the types of JavaScript, whose dates have milliseconds, and not converted. Two
	// properties differ: JavaScript's JSON has no 3.0, so its SDK takes a whole double for an Int32, and it leaves NaN as the text
	// on the wire. The stored types are right, as the test shows below.
	for i, want := range []map[string][2]string{
		{"Text": {"string", "é日😀 \"'\\"}, "Empty": {"string", ""}, "Truth": {"boolean", "true"}, "Int32": {"number", "2147483647"}, "Half": {"number", "0.5"},
			"Int64": {"bigint", "9007199254740993"}, "Whole": {"number", "3"}, "Huge": {"number", "1.7976931348623157e+308"}, "NaN": {"string", "NaN"},
			"When": {"Date", "2026-11-21T01:02:03.123Z"}, "ID": {"Guid", "c9da6455-213d-42c9-9a79-3e9149a57833"}, "Bytes": {"Uint8Array", "0001ff"}},
		{"Text": {"String", "é日😀 \"'\\"}, "Empty": {"String", ""}, "Truth": {"Boolean", "true"}, "Int32": {"Int32", "2147483647"}, "Half": {"Double", "0.5"},
			"Int64": {"Int64", "9007199254740993"}, "Whole": {"Int32", "3"}, "Huge": {"Double", "1.7976931348623157e+308"}, "NaN": {"Double", "NaN"},
			"When": {"DateTime", "2026-11-21T01:02:03.1234567Z"}, "ID": {"Guid", "c9da6455-213d-42c9-9a79-3e9149a57833"}, "Bytes": {"Binary", "AAH/"}},
	} {
		for name, v := range want {
			if got := rows["1"][i][name]; got != v {
				e.Errorf("property %s, read in JavaScript: got %q; want %q", name, got, v)
			}
		}
	}
	for row, err := range tab.Rows(context.Background(), table.Query[edmTypes]{}) {
		e.must(err)
		for name, want := range map[string]string{"Whole": "Edm.Double", "NaN": "Edm.Double", "Int32": "Edm.Int32", "Int64": "Edm.Int64", "When": "Edm.DateTime", "ID": "Edm.Guid", "Bytes": "Edm.Binary", "Text": "Edm.String", "Truth": "Edm.Boolean"} {
			if got := row.Type(name); got != want {
				e.Errorf("property %s: got stored type %s; want %s", name, got, want)
			}
		}
	}
}
