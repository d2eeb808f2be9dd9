package edm

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/internal/errs"
)

type color int8

// place is a composite: two properties.
type place struct {
	City string
	Zip  int32
}

func (place) PropertySuffixes() []string { return []string{"City", "Zip"} }
func (p place) PropertyValues() ([]any, error) {
	if p.City == "bad" {
		return nil, errors.New("there is no such place")
	}
	if p == (place{}) {
		return nil, nil
	}
	return []any{p.City, p.Zip}, nil
}
func (p *place) SetPropertyValues(v []any) error {
	p.City, _ = v[0].(string)
	p.Zip, _ = v[1].(int32)
	if p.City == "nowhere" {
		return errors.New("nowhere is no city")
	}
	return nil
}

type base struct{ Common string }

// everything has a field of each form.
type everything struct {
	base
	ID      int `table:"-"`
	Str     string
	Opt     *string
	Renamed string `table:"Other"`
	Empty   string `table:",omitempty"`
	I8      int8
	I16     int16
	I32     int32
	I64     int64
	I       int
	U8      uint8
	U16     uint16
	U32     uint32
	U64     uint64
	F32     float32
	F64     float64
	B       bool
	PB      *bool
	Time    time.Time
	PTime   *time.Time
	UUID    [16]byte
	Bin     []byte
	Named   color
	Addr    netip.Addr
	Doc     map[string]int `table:",json"`
	Hours   []int64        `table:"h,each=24"`
	Times   []time.Time    `table:"m,each=2"`
	Home    place
	Größe   int32
	Extra   map[string]any `table:",extra"`
	private int
}

func newCodec(t testing.TB, v any, boundPaths ...[]int) *Codec {
	t.Helper()
	p, err := NewCodec(reflect.TypeOf(v), boundPaths)
	if err != nil {
		t.Fatalf("codec of %T: got error %v; want none", v, err)
	}
	return p
}

// encode encodes v with both kinds of writers, which do the same.
func encode[T any](p *Codec, v T) (string, error) {
	var bodies [2]Body
	var errs [2]error
	var sizes [2]rowSize // of the head
	for i, w := range []*Writer{NewWriter("p", "r", 0), p.TextWriter("p", "r")} {
		if p.Has("Str") { // some types have properties in front
			w.Put("_type", Value{Kind: String, S: "everything"})
		}
		p.Encode(w, reflect.ValueOf(&v).Elem(), Stored{})
		sizes[i] = w.head
		bodies[i], errs[i] = w.Finish()
	}
	want, got := string(bodies[0].Append(nil, nil)), string(bodies[1].Append(nil, nil))
	switch {
	case fmt.Sprint(errs[1]) != fmt.Sprint(errs[0]):
		return "", fmt.Errorf("the writer of texts got error %v; want %v", errs[1], errs[0])
	case errs[0] == nil && sizes[1] != sizes[0]:
		return "", fmt.Errorf("the writer of texts counted %+v; want %+v", sizes[1], sizes[0])
	case errs[0] == nil && (got != want || bodies[1].Length != bodies[0].Length):
		return "", fmt.Errorf("the writer of texts got %s of length %d; want %s of length %d", got, bodies[1].Length, want, bodies[0].Length)
	}
	return strings.Replace(want, `"_type":"everything",`, "", 1), errs[0]
}

// decode reads the entity body. It adds keys if body has none.
func decode[T any](p *Codec, body string) (v T, e Entity, err error) {
	for _, key := range []string{RowKey, PartitionKey} {
		if rest, ok := strings.CutPrefix(body, `{"`); ok && !strings.Contains(body, `"`+key+`"`) {
			body = `{"` + key + `":"k","` + rest
		}
	}
	r := NewReader([]byte(body))
	if e, err = r.One(); err == nil {
		err = p.Decode(r, reflect.ValueOf(&v).Elem())
	}
	return v, e, err
}

func ptr[T any](v T) *T { return &v }

// TestEncode checks the JSON of every type.
func TestEncode(t *testing.T) {
	t.Parallel()
	v := everything{
		base: base{"c"}, private: 1, ID: 7, Str: "a\"\\\n\x01é", Opt: ptr(""), Renamed: "x",
		I8: math.MinInt8, I16: -1, I32: math.MaxInt32, I64: math.MinInt64, I: 1 << 53, U8: 255, U16: 65535, U32: math.MaxUint32, U64: math.MaxInt64,
		F32: 0.5, F64: 5, B: true, PB: ptr(false),
		Time: time.Date(2026, 11, 21, 2, 3, 4, 123456789, time.FixedZone("", 5*3600)), PTime: ptr(time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)),
		UUID: [16]byte{0xde, 0xad, 15: 1}, Bin: []byte{1, 2, 3}, Named: -3, Addr: netip.MustParseAddr("127.0.0.1"),
		Doc: map[string]int{"a": 1}, Hours: []int64{1, 2}, Home: place{"Bern", 3000}, Größe: 2,
		Extra: map[string]any{"Zed": int64(5), "Alpha": 2.0},
	}
	want := `{"PartitionKey":"p","RowKey":"r","Common":"c","Str":"a\"\\\n\u0001é","Opt":"","Other":"x","I8":-128,"I16":-1,"I32":2147483647,` +
		`"I64@odata.type":"Edm.Int64","I64":"-9223372036854775808","I@odata.type":"Edm.Int64","I":"9007199254740992","U8":255,"U16":65535,` +
		`"U32@odata.type":"Edm.Int64","U32":"4294967295","U64@odata.type":"Edm.Int64","U64":"9223372036854775807",` +
		`"F32@odata.type":"Edm.Double","F32":0.5,"F64@odata.type":"Edm.Double","F64":5,"B":true,"PB":false,` +
		`"Time@odata.type":"Edm.DateTime","Time":"2026-11-20T21:03:04.1234567Z","PTime@odata.type":"Edm.DateTime","PTime":"1601-01-01T00:00:00Z",` +
		`"UUID@odata.type":"Edm.Guid","UUID":"dead0000-0000-0000-0000-000000000001","Bin@odata.type":"Edm.Binary","Bin":"AQID","Named":-3,"Addr":"127.0.0.1",` +
		`"Doc":"{\"a\":1}","h00@odata.type":"Edm.Int64","h00":"1","h01@odata.type":"Edm.Int64","h01":"2","HomeCity":"Bern","HomeZip":3000,"Größe":2,` +
		`"Alpha@odata.type":"Edm.Double","Alpha":2,"Zed@odata.type":"Edm.Int64","Zed":"5"}`
	got, err := encode(newCodec(t, v), v)
	if err != nil || got != want {
		t.Errorf("got %v, %s\nwant %s", err, got, want)
	}
}

// TestSeparators: the two characters that end a line for some readers of transactions are escaped as encoding/json does, and no others.
func TestSeparators(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\u2028": `"\u2028"`, "a\u2029b": `"a\u2029b"`, "\u2028\u2029\u2028": `"\u2028\u2029\u2028"`, "\"\u2029\n": `"\"\u2029\n"`, "€\u2028": `"€\u2028"`,
		"\u2027\u202a": "\"\u2027\u202a\"", "\u2068": "\"\u2068\"", "€": `"€"`, "\xe2": "\"\xe2\"", "\xe2\x80": "\"\xe2\x80\"",
	} {
		got := string(appendString(nil, text))
		if got != want {
			t.Errorf("%q: got %s; want %s", text, got, want)
		}
		if n := lengthOf(&Value{Kind: String, S: text}); n != len(got) {
			t.Errorf("%q: got the length %d; want %d", text, n, len(got))
		}
	}
}

// TestAbsent: nil, the zero time and omitempty write nothing. Empty values are stored.
func TestAbsent(t *testing.T) {
	t.Parallel()
	type few struct {
		S    string
		P    *string
		T    time.Time
		PT   *time.Time
		Bin  []byte
		Omit int            `table:",omitempty"`
		Doc  map[string]int `table:",json"`
		Home place
		List []int32 `table:",each"`
	}
	p := newCodec(t, few{})
	if got, err := encode(p, few{}); err != nil || got != `{"PartitionKey":"p","RowKey":"r","S":""}` {
		t.Errorf("the zero value: got %s, %v, want S only", got, err)
	}
	if got, err := encode(p, few{P: ptr(""), Bin: []byte{}, Doc: map[string]int{}, List: []int32{0}}); err != nil ||
		got != `{"PartitionKey":"p","RowKey":"r","S":"","P":"","Bin@odata.type":"Edm.Binary","Bin":"","Doc":"{}","List000":0}` {
		t.Errorf("empty values: got %s, %v, want S, P, Bin, Doc and List000", got, err)
	}
	v, _, err := decode[few](p, `{"P":"","Bin@odata.type":"Edm.Binary","Bin":"","T":null,"List002":7,"List000":5}`)
	if err != nil || v.P == nil || *v.P != "" || v.Bin == nil || len(v.Bin) != 0 || !v.T.IsZero() || !reflect.DeepEqual(v.List, []int32{5, 0, 7}) {
		t.Errorf("got %+v, %v, want P, Bin and List of 5, 0, 7 only", v, err)
	}
}

// TestDecodeServiceForms checks every form of a value that a service is known to send.
func TestDecodeServiceForms(t *testing.T) {
	t.Parallel()
	v, e, err := decode[everything](newCodec(t, everything{}), ` {"odata.metadata":"https://x/$metadata#t/@Element","odata.etag":"W/\"datetime'2017-10-02T20%3A21%3A54.8228007Z'\"",
	"PartitionKey":"p\u00f4","RowKey":"r'\/","Timestamp":"2017-10-02T20:21:54.8228007Z",
	"F64":3.0,"F32":1,"I64":"39","I64@odata.type":"Edm.Int64","I@odata.type":"Edm.Int64","I":"9007199254740993",
	"Time@odata.type":"Edm.DateTime","Time":"1970-10-04T01:02:00Z","PTime@odata.type":"Edm.DateTime","PTime":"2016-11-13T23:18:54.1234567Z",
	"UUID@odata.type":"Edm.Guid","UUID":"C9DA6455-213d-42c9-9a79-3e9149a57833","Bin@odata.type":"Edm.Binary","Bin":"YmluYXJ5",
	"Str":"\u00e9\ud83d\ude00\t\"","Gr\u00f6\u00dfe":5,"h01@odata.type":"Edm.Int64","h01":"2","HomeZip":8000,"B":true,"Named":-3,
	"nan@odata.type":"Edm.Double","nan":"NaN","bare":1.23456789012346E+24,"_op":"hidden","whole":3.0,"xyz":null,"Addr":"::1"}`)
	if err != nil {
		t.Fatalf("decode: got error %v; want none", err)
	}
	if e.PartitionKey != "pô" || e.RowKey != "r'/" || e.ETag != `W/"datetime'2017-10-02T20%3A21%3A54.8228007Z'"` || e.Timestamp.Nanosecond() != 822800700 {
		t.Errorf("got the entity %+v; want the keys pô and r'/, the ETag with datetime'2017-10-02T20%%3A21%%3A54.8228007Z', and 822800700 ns in Timestamp", e)
	}
	if v.F64 != 3 || v.F32 != 1 || v.I64 != 39 || v.I != 1<<53+1 || v.PTime.Nanosecond() != 123456700 || v.UUID[0] != 0xc9 || string(v.Bin) != "binary" ||
		v.Str != "é😀\t\"" || v.Größe != 5 || !reflect.DeepEqual(v.Hours, []int64{0, 2}) || v.Home != (place{"", 8000}) || !v.B || v.Named != -3 || v.Addr.String() != "::1" ||
		!v.Time.Equal(time.Date(1970, 10, 4, 1, 2, 0, 0, time.UTC)) {
		t.Errorf("got the value %+v; want F64 3, F32 1, I64 39, I 2^53+1, 123456700 ns in PTime, UUID c9…, Bin \"binary\", Str %q, Größe 5, "+
			"Hours [0 2], Home without City and with Zip 8000, B true, Named -3, Addr ::1 and Time 1970-10-04T01:02:00Z", v, "é😀\t\"")
	}
	if len(v.Extra) != 3 || !math.IsNaN(v.Extra["nan"].(float64)) || v.Extra["bare"] != 1.23456789012346e24 || v.Extra["whole"] != 3.0 {
		t.Errorf("got the unknown columns %+v, want nan, bare and whole", v.Extra)
	}
}

func TestSpecialDoubles(t *testing.T) {
	t.Parallel()
	type d struct{ A, B, C, Bare float64 }
	v, _, err := decode[d](newCodec(t, d{}), `{"A@odata.type":"Edm.Double","A":"NaN","B@odata.type":"Edm.Double","B":"Infinity","C@odata.type":"Edm.Double","C":"-Infinity","Bare":"NaN"}`)
	if err != nil || !math.IsNaN(v.A) || !math.IsInf(v.B, 1) || !math.IsInf(v.C, -1) || !math.IsNaN(v.Bare) {
		t.Errorf("got %+v, %v, want NaN, Infinity, -Infinity and NaN", v, err)
	}
	// Whole doubles without a decimal point, of any size.
	w, _, err := decode[d](newCodec(t, d{}), `{"A":3000000000,"B":100000000000000000000,"C":-9007199254740992}`)
	if err != nil || w.A != 3e9 || w.B != 1e20 || w.C != -9007199254740992 {
		t.Errorf("got %+v, %v, want 3e9, 1e20 and -9007199254740992", w, err)
	}
	if w, _, err := decode[d](newCodec(t, d{}), `{"A":9007199254740993}`); err == nil {
		t.Errorf("an Int64 that no double represents: got %v, want an error", w.A)
	}
	got, err := encode(newCodec(t, d{}), v)
	if err != nil || !strings.Contains(got, `"A@odata.type":"Edm.Double","A":"NaN"`) || !strings.Contains(got, `"C":"-Infinity"`) {
		t.Errorf("got %s, %v, want NaN and -Infinity as texts with annotations", got, err)
	}
}

// TestDecodeRefuses: the error of a value that does not fit names the property.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	p := newCodec(t, everything{})
	for body, field := range map[string]string{
		`{"I8":128}`: "I8",
		`{"U8":-1}`:  "U8",
		`{"U64":-1}`: "U64",
		`{"I32@odata.type":"Edm.Int64","I32":"2147483648"}`: "I32",
		`{"I64@odata.type":"Edm.Int64","I64":"1e3"}`:        "I64",
		`{"I64@odata.type":"Edm.Int64","I64":"+5"}`:         "I64",
		`{"I64":3.0}`:                              "I64",
		`{"I64":"39"}`:                             "I64",
		`{"I64":9223372036854775808}`:              "I64",
		`{"Str@odata.type":"Edm.Int64","Str":"5"}`: "Str",
		`{"Str":5}`:                                "Str",
		`{"Str":"\ud800"}`:                         "Str",
		`{"Str":"\udc00x"}`:                        "Str",
		`{"Str":{"a":1}}`:                          "Str",
		"{\"Str\":\"\xff\"}":                       "Str",
		"{\"Str\":\"a\nb\"}":                       "Str",
		`{"Str":"\q"}`:                             "Str",
		`{"B":"true"}`:                             "B",
		`{"F64":"fast"}`:                           "F64",
		`{"F64@odata.type":"Edm.Double","F64":"0x1p4"}`:         "F64",
		`{"F32@odata.type":"Edm.Double","F32":0.1}`:             "F32",
		`{"Time":"2020-01-01T00:00:00Z"}`:                       "Time",
		`{"Time@odata.type":"Edm.DateTime","Time":"yesterday"}`: "Time",
		`{"UUID@odata.type":"Edm.Guid","UUID":"c9da6455"}`:      "UUID",
		`{"Bin@odata.type":"Edm.Binary","Bin":"Y"}`:             "Bin",
		`{"Bin@odata.type":"Edm.Stream","Bin":"YQ=="}`:          "Bin",
		`{"Addr":"localhost"}`:                                  "Addr",
		`{"Doc":"{"}`:                                           "Doc",
		`{"HomeCity":"nowhere"}`:                                "Home",
		`{"Timestamp":"x"}`:                                     "Timestamp",
		`{"RowKey":5}`:                                          "RowKey",
		`{"unknown@odata.type":"Edm.Geography","unknown":"x"}`:  "unknown",
	} {
		_, _, err := decode[everything](p, body)
		var de *errs.DecodeError
		if !errors.As(err, &de) || de.Field != field {
			t.Errorf("%s: got %v, want a *DecodeError of %s", body, err, field)
		}
	}
	for _, body := range []string{``, `{`, `[]`, `{}x`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1`, `{"a":tru}`, `{"a":-}`, `{"a":1.}`, `{"a":1e}`, `{"a":"`, `{"a@odata.type":5,"a":1}`,
		`{"a":` + strings.Repeat("[", 100)} {
		if _, _, err := decode[everything](p, body); err == nil {
			t.Errorf("%s: got no error, want one", body)
		}
	}
}

// TestRoundTrip: every value is read back unchanged.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	type row struct {
		S    string
		OS   *string
		I32  int32
		I64  int64
		U64  uint64
		F    float64
		F32  float32
		B    bool
		T    time.Time
		PT   *time.Time
		G    [16]byte
		Bin  []byte
		List []int64 `table:",each"`
	}
	p := newCodec(t, row{})
	rapid.Check(t, func(t *rapid.T) {
		in := row{
			S: rapid.String().Draw(t, "S"), OS: rapid.Ptr(rapid.String(), true).Draw(t, "OS"),
			I32: rapid.Int32().Draw(t, "I32"), I64: rapid.Int64().Draw(t, "I64"), U64: rapid.Uint64Max(math.MaxInt64).Draw(t, "U64"),
			F: rapid.Float64().Draw(t, "F"), F32: rapid.Float32().Draw(t, "F32"), B: rapid.Bool().Draw(t, "B"),
			T:   time.Unix(rapid.Int64Range(minTime.Unix(), maxTime.Unix()).Draw(t, "T"), rapid.Int64Range(0, 9_999_999).Draw(t, "n")*100).UTC(),
			G:   [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "G")),
			Bin: rapid.SliceOf(rapid.Byte()).Draw(t, "Bin"), List: rapid.SliceOfN(rapid.Int64(), 1, 5).Draw(t, "List"),
		}
		body, err := encode(p, in)
		if err != nil {
			t.Fatalf("encode %+v: got error %v; want none", in, err)
		}
		out, e, err := decode[row](p, body)
		if err != nil || e.PartitionKey != "p" || e.RowKey != "r" || !reflect.DeepEqual(in, out) {
			t.Fatalf("got %+v, %v\nwant %+v\nbody %s", out, err, in, body)
		}
	})
}

// TestNumbersAreThoseOfTheSDK: the library writes a number as encoding/json does, and so both paths to the service write it alike.
func TestNumbersAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	numbers := []float64{0, math.Copysign(0, -1), 1, -1.5, 1e6, 123456789, 1e20, 1e21, 999999999999999999999, -1e21, 1e-6, 9.99e-7, 1e-7, -1e-9, 1.5e-10, 1e-100, math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53}
	for range 10_000 {
		if f := math.Float64frombits(random.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			numbers = append(numbers, f)
		}
	}
	for _, f := range numbers {
		want, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendNumber(nil, f); string(got) != string(want) {
			t.Errorf("%v: got %s; want %s", f, got, want)
		}
	}
}
