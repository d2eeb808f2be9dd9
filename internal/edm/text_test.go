package edm

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"pgregory.net/rapid"
)

// texts has a field of each type that the options text and double take.
type texts struct {
	I8     int8                 `table:",text"`
	U64    uint64               `table:",text"`
	I      int                  `table:",text,omitempty"`
	OptI   *int32               `table:",text"`
	B      bool                 `table:",text"`
	OptB   *bool                `table:",text"`
	T      time.Time            `table:",text"`
	OptT   *time.Time           `table:",text"`
	Bin    []byte               `table:",text"`
	SDK    aztables.EDMInt64    `table:",text,part=0"`
	SDKT   aztables.EDMDateTime `table:",text"`
	SDKBin aztables.EDMBinary   `table:",text"`
	D      int64                `table:",double"`
	OptD   *int                 `table:",double"`
	D8     uint8                `table:",double,omitempty"`
}

// TestTextRoundTrip: what the options text and double store is read back, but for the steps of a time and its zone.
func TestTextRoundTrip(t *testing.T) {
	t.Parallel()
	p := newCodec(t, texts{})
	whole := rapid.Int64Range(-maxWhole, maxWhole)
	times := rapid.Custom(func(r *rapid.T) time.Time {
		if rapid.Bool().Draw(r, "zero") {
			return time.Time{}
		}
		zone := time.FixedZone("", 60*rapid.IntRange(-18*60, 18*60).Draw(r, "minutes"))
		return time.Unix(rapid.Int64Range(-62135596799, 253402214399).Draw(r, "s"), 100*rapid.Int64Range(0, 9_999_999).Draw(r, "ticks")).In(zone)
	})
	rapid.Check(t, func(r *rapid.T) {
		at := times.Draw(r, "at")
		v := texts{
			I8: rapid.Int8().Draw(r, "I8"), U64: rapid.Uint64Max(1<<63-1).Draw(r, "U64"), I: rapid.Int().Draw(r, "I"), OptI: rapid.Ptr(rapid.Int32(), true).Draw(r, "OptI"),
			B: rapid.Bool().Draw(r, "B"), OptB: rapid.Ptr(rapid.Bool(), true).Draw(r, "OptB"), T: at, Bin: rapid.SliceOf(rapid.Byte()).Draw(r, "Bin"),
			SDK: aztables.EDMInt64(rapid.Int64().Draw(r, "SDK")), SDKT: aztables.EDMDateTime(times.Draw(r, "SDKT")), D: whole.Draw(r, "D"), D8: rapid.Uint8().Draw(r, "D8"),
		}
		if !at.IsZero() {
			v.OptT = &at
		}
		body, err := encode(p, v)
		if err != nil {
			r.Fatal(err)
		}
		var got texts
		reader := NewReader([]byte(body))
		if _, err := reader.One(); err != nil {
			r.Fatal(err)
		}
		if err := p.Decode(reader, reflect.ValueOf(&got).Elem()); err != nil {
			r.Fatalf("%s: %v", body, err)
		}
		if !got.T.Equal(v.T) || (got.OptT == nil) != (v.OptT == nil) || got.OptT != nil && !got.OptT.Equal(at) || !time.Time(got.SDKT).Equal(time.Time(v.SDKT)) {
			r.Fatalf("%s: got times %v, %v, %v; want %v, %v, %v", body, got.T, got.OptT, time.Time(got.SDKT), v.T, v.OptT, time.Time(v.SDKT))
		}
		got.T, got.OptT, got.SDKT, v.T, v.OptT, v.SDKT = time.Time{}, nil, aztables.EDMDateTime{}, time.Time{}, nil, aztables.EDMDateTime{}
		if !reflect.DeepEqual(got, v) {
			r.Fatalf("%s: got %+v; want %+v", body, got, v)
		}
	})
}

// TestTextTags: the options text and double are for certain types, and alone.
func TestTextTags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    any
		want string
	}{
		{struct {
			A string `table:",text"`
		}{}, "the option text is for times, whole numbers, booleans and []byte, and not for an Edm.String"},
		{struct {
			A float64 `table:",text"`
		}{}, "not for an Edm.Double"},
		{struct {
			A [16]byte `table:",text"`
		}{}, "not for an Edm.Guid"},
		{struct {
			A time.Time `table:",double"`
		}{}, "the option double is for whole numbers, and not for an Edm.DateTime"},
		{struct {
			A float32 `table:",double"`
		}{}, "not for an Edm.Double"},
		{struct {
			A int `table:",double,text"`
		}{}, "can be combined with omitempty and part alone"},
		{struct {
			A int `table:",int32,double"`
		}{}, "can be combined with omitempty and part alone"},
		{struct {
			A int `table:",json,text"`
		}{}, "can be combined with omitempty and part alone"},
		{struct {
			A []int `table:",text"`
		}{}, "cannot be stored"},
		{struct {
			A []int `table:",each=3,text"`
		}{}, "cannot be combined"},
		{struct {
			A []byte `table:",chunks,text"`
		}{}, "can be combined with omitempty and part alone"},
		{struct {
			A place `table:",text"`
		}{}, "not for a table.Composite"},
		{struct {
			A place `table:",double"`
		}{}, "not for a table.Composite"},
	} {
		if _, err := NewCodec(reflect.TypeOf(c.v), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: got error %v; want one with %q", c.v, err, c.want)
		}
	}
}

// TestTextCondition: a condition has each text and each number that the field reads as the value, and no other.
func TestTextCondition(t *testing.T) {
	t.Parallel()
	type row struct {
		N int    `table:",text"`
		B bool   `table:",text"`
		X []byte `table:",text"`
	}
	var v row
	p, of := newCodec(t, v), reflect.ValueOf(&v).Elem()
	const long = "(not (N le 0.0 or N gt 0.0)) and "
	for _, c := range []struct {
		field any
		op    string
		value any
		want  string
	}{
		{&v.N, "eq", 7, "N eq '7' or N eq 7.0 or N eq 7"},
		{&v.N, "ne", 7, "(N gt '' and N lt '7') or N gt '7' or N lt 7.0 or N gt 7.0 or N lt 7 or N gt 7"},
		{&v.N, "eq", 1 << 31, "N eq '2147483648' or N eq 2147483648.0 or " + long + "(N eq 2147483648L)"},
		{&v.N, "eq", 1<<53 + 1, "N eq '9007199254740993' or " + long + "(N eq 9007199254740993L)"},
		{&v.N, "ne", 1<<53 + 1, "(N gt '' and N lt '9007199254740993') or N gt '9007199254740993' or N le 0.0 or N gt 0.0 or N le 2147483647 or " + long + "(N lt 9007199254740993L) or " + long + "(N gt 9007199254740993L)"},
		{&v.N, "ne", -1<<53 - 1, "(N gt '' and N lt '-9007199254740993') or N gt '-9007199254740993' or N le 0.0 or N gt 0.0 or N ge -2147483648 or " + long + "(N lt -9007199254740993L) or " + long + "(N gt -9007199254740993L)"},
		{&v.B, "eq", true, "B eq 'true' or B eq 'True' or B eq 'TRUE' or B eq true"},
		{&v.B, "ne", true, "B eq 'false' or B eq 'False' or B eq 'FALSE' or B eq false"},
		{&v.X, "eq", []byte{1}, "X eq 'AQ==' or X eq X'01'"},
		{&v.X, "ne", []byte{1}, "X lt 'AQ==' or X gt 'AQ==' or X lt X'01' or X gt X'01'"},
		{&v.X, OpUnset, []byte{}, "not (X ge '' or X ge X'')"},
		{&v.N, OpSet, 0, "N gt '' or N ge 0 or N lt 0"},
	} {
		operand, err := p.Operand(FieldPath(of, c.field), 0)
		if err != nil {
			t.Fatal(err)
		}
		value := reflect.New(reflect.TypeOf(c.value)).Elem()
		value.Set(reflect.ValueOf(c.value))
		got, n, err := operand.Compare(c.op, value)
		name := operand.Name + " "
		if got != c.want || n != strings.Count(" "+strings.ReplaceAll(c.want, "(", " "), " "+name) || err != nil {
			t.Errorf("%s %s %v: got %s, %d comparisons, error %v; want %s", operand.Name, c.op, c.value, got, n, err, c.want)
		}
	}
}

// FuzzText: a text is refused, or is read as a value whose own text is read as the same.
func FuzzText(f *testing.F) {
	for _, text := range []string{"2026-01-02T03:04:05.1234567+02:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-18:00", "-9223372036854775808", "TRUE", "AAH/", "", "+1", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for k := range textForms {
			x, ok := parseText(k, text)
			if !ok {
				continue
			}
			own, err := textOf(&x)
			if err != nil {
				if k != DateTime {
					t.Errorf("%v %q: %v", k, text, err)
				}
				continue
			}
			again, ok := parseText(k, own)
			if k == DateTime {
				x = timeValue(x.T)
				again = timeValue(again.T)
			}
			if !ok || !Same(again, x) {
				t.Errorf("%v %q: got %q, read as %s; want %s", k, text, own, fmt.Sprint(again.Any()), fmt.Sprint(x.Any()))
			}
		}
	})
}

// TestTextForms: a text that is almost of a field's form is refused, and each form of the value is read.
func TestTextForms(t *testing.T) {
	t.Parallel()
	type row struct {
		T *time.Time `table:",text"`
		I *int32     `table:",text"`
		B *bool      `table:",text"`
		X []byte     `table:",text"`
		D *int64     `table:",double"`
	}
	p := newCodec(t, row{})
	for _, c := range []struct{ property, want string }{
		{`"T":"2026-01-02T03:04:05.5-01:00"`, "2026-01-02T04:04:05.5Z"}, {`"T@odata.type":"Edm.DateTime","T":"2026-01-02T03:04:05Z"`, "2026-01-02T03:04:05Z"}, {`"T":""`, "none"},
		{`"T":"2026-01-02 03:04:05Z"`, "refused"}, {`"T":"2026-01-02T3:04:05Z"`, "refused"}, {`"T":"2026-01-02T03:04:05,5Z"`, "refused"}, {`"T":"2026-01-02"`, "refused"}, {`"T":5`, "refused"},
		{`"I":"-7"`, "-7"}, {`"I":7`, "7"}, {`"I@odata.type":"Edm.Double","I":7.0`, "7"}, {`"I@odata.type":"Edm.Int64","I":"7"`, "7"}, {`"I":""`, "none"},
		{`"I":"07"`, "refused"}, {`"I":"+7"`, "refused"}, {`"I":"2147483648"`, "refused"}, {`"I@odata.type":"Edm.Double","I":7.5`, "refused"}, {`"I":true`, "refused"},
		{`"B":"True"`, "true"}, {`"B":"FALSE"`, "false"}, {`"B":false`, "false"}, {`"B":"tRUE"`, "refused"}, {`"B":1`, "refused"}, {`"B":""`, "none"},
		{`"X":"AQ=="`, "[1]"}, {`"X@odata.type":"Edm.Binary","X":"AQ=="`, "[1]"}, {`"X":""`, "[]"}, {`"X":"AQ"`, "refused"}, {`"X":"AR=="`, "refused"}, {`"X":"AQ==\n"`, "refused"},
		{`"D@odata.type":"Edm.Double","D":-7.0`, "-7"}, {`"D":7`, "7"}, {`"D@odata.type":"Edm.Int64","D":"9007199254740993"`, "9007199254740993"},
		{`"D@odata.type":"Edm.Double","D":0.5`, "refused"}, {`"D@odata.type":"Edm.Double","D":9007199254740994.0`, "refused"}, {`"D@odata.type":"Edm.Double","D":"NaN"`, "refused"}, {`"D":"7"`, "refused"},
	} {
		r := NewReader([]byte(`{"PartitionKey":"p","RowKey":"r",` + c.property + `}`))
		if _, err := r.One(); err != nil {
			t.Fatal(err)
		}
		var v row
		got := "none"
		switch err := p.Decode(r, reflect.ValueOf(&v).Elem()); {
		case err != nil:
			got = "refused"
		case v.T != nil:
			got = v.T.Format(time.RFC3339Nano)
		case v.I != nil:
			got = fmt.Sprint(*v.I)
		case v.B != nil:
			got = fmt.Sprint(*v.B)
		case v.X != nil:
			got = fmt.Sprint(v.X)
		case v.D != nil:
			got = fmt.Sprint(*v.D)
		}
		if got != c.want {
			t.Errorf("%s: got %s; want %s", c.property, got, c.want)
		}
	}
}

// TestTextReasons: the error of a value that does not fit says which type it does not fit, and nothing of the value.
func TestTextReasons(t *testing.T) {
	t.Parallel()
	type row struct {
		I int8  `table:",text"`
		D uint8 `table:",double"`
	}
	p := newCodec(t, row{})
	for property, want := range map[string]string{
		`"I":"300"`:                             "the Edm.String is not a whole number in decimal digits, without a sign + and without leading zeros that fits the field's type int8",
		`"D@odata.type":"Edm.Double","D":300.0`: "the Edm.Double is not a whole number up to 2^53 that fits the field's type uint8",
	} {
		r := NewReader([]byte(`{"PartitionKey":"p","RowKey":"r",` + property + `}`))
		if _, err := r.One(); err != nil {
			t.Fatal(err)
		}
		var v row
		if err := p.Decode(r, reflect.ValueOf(&v).Elem()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "300") {
			t.Errorf("%s: got error %v; want one with %q", property, err, want)
		}
	}
}

// TestTextWrites: a write stores the form of the option, also if another form was stored.
func TestTextWrites(t *testing.T) {
	t.Parallel()
	type row struct {
		I int `table:",text"`
		D int `table:",double"`
		N int
	}
	p := newCodec(t, row{})
	was := Stored{JSON: JSON{text: `{"PartitionKey":"p","RowKey":"r","I":7,"D":7,"N":7}`}}
	w := NewWriter("p", "r", 3)
	p.Encode(w, reflect.ValueOf(&row{8, 8, 8}).Elem(), was)
	body, err := w.Finish()
	want := `{"PartitionKey":"p","RowKey":"r","I":"8","D@odata.type":"Edm.Double","D":8,"N":8}`
	if got := string(body.JSON(nil)); got != want || err != nil {
		t.Errorf("got %s, error %v; want %s", got, err, want)
	}
	for _, n := range []int{1<<53 + 1, -1<<53 - 1} {
		if got, err := encode(p, row{D: n}); err == nil || !strings.Contains(err.Error(), "beyond 2^53") {
			t.Errorf("%d: got %s, error %v; want an error", n, got, err)
		}
	}
}

// TestTextOrder: comparisons that the order of texts, or their number, would make wrong are refused.
func TestTextOrder(t *testing.T) {
	t.Parallel()
	var v texts
	p, of := newCodec(t, v), reflect.ValueOf(&v).Elem()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		field any
		value any
		ops   string
	}{{&v.I, 7, "lt le gt ge"}, {&v.B, true, "lt le gt ge"}, {&v.Bin, []byte{1}, "lt le gt ge"}, {&v.T, at, "eq ne lt le gt ge"}} {
		operand, err := p.Operand(FieldPath(of, c.field), 0)
		if err != nil {
			t.Fatal(err)
		}
		value := reflect.New(reflect.TypeOf(c.value)).Elem()
		value.Set(reflect.ValueOf(c.value))
		for _, op := range strings.Fields(c.ops) {
			if got, _, err := operand.Compare(op, value); err == nil || !strings.Contains(err.Error(), "is stored as text") {
				t.Errorf("%s %s: got %s, error %v; want an error that says that it is stored as text", operand.Name, op, got, err)
			}
		}
	}
}
