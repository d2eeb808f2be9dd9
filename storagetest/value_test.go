package storagetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestValues: a get returns each value in the form of the live service.
func TestValues(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	typed := func(typ, value string) string { return `"V@odata.type":"Edm.` + typ + `","V":` + value }
	for i, c := range []struct{ sent, want string }{
		{`"V":20`, `"V":20`}, {`"V":20.0`, `"V":20.0`}, {`"V":-2147483648`, `"V":-2147483648`}, {`"V":2147483648`, `"V":2147483648.0`},
		{typed("Double", `1`), `"V":1.0`}, {typed("Double", `"10.0"`), `"V":10.0`}, {typed("Double", `3.14`), `"V":3.14`}, {`"V":0.5`, `"V":0.5`}, {`"V":-0.001`, `"V":-0.001`},
		{typed("Double", `"1.23456789012346e+24"`), `"V":1.23456789012346E+24`}, {`"V":5e-324`, `"V":4.94065645841247E-324`}, {`"V":1.7976931348623157E+308`, `"V":1.7976931348623157E+308`},
		{`"V":123456789012345.12`, `"V":123456789012345.12`}, {`"V":4.81516423423`, `"V":4.81516423423`}, {`"V":1e15`, `"V":1E+15`}, {`"V":0.00001`, `"V":1E-05`}, {`"V":0.1`, `"V":0.1`}, {`"V":0.0`, `"V":0.0`},
		{`"V":100.0`, `"V":100.0`}, {`"V":123456.75`, `"V":123456.75`}, {`"V":0.30000000000000004`, `"V":0.30000000000000004`},
		{typed("Double", `"NaN"`), typed("Double", `"NaN"`)}, {typed("Double", `"-Infinity"`), typed("Double", `"-Infinity"`)}, {typed("Double", `"Infinity"`), typed("Double", `"Infinity"`)},
		{typed("Int64", `"9223372036854775807"`), typed("Int64", `"9223372036854775807"`)}, {typed("Int64", `5`), typed("Int64", `"5"`)},
		{typed("Int32", `"12345"`), `"V":12345`}, {typed("Boolean", `"False"`), `"V":false`}, {typed("String", `"x"`), `"V":"x"`},
		{typed("DateTime", `"2013-08-22T01:12:06.2608595Z"`), typed("DateTime", `"2013-08-22T01:12:06.2608595Z"`)}, {typed("DateTime", `"2020-01-01T01:02:00.0000000Z"`), typed("DateTime", `"2020-01-01T01:02:00Z"`)},
		{typed("DateTime", `"2020-01-01T01:02:23.283000Z"`), typed("DateTime", `"2020-01-01T01:02:23.283Z"`)}, {typed("DateTime", `"1601-01-01T00:00:00Z"`), typed("DateTime", `"1601-01-01T00:00:00Z"`)},
		{typed("DateTime", `"2020-01-01T06:02:00+05:00"`), typed("DateTime", `"2020-01-01T01:02:00Z"`)},
		{typed("Guid", `"C9DA6455-213d-42c9-9a79-3e9149a57833"`), typed("Guid", `"c9da6455-213d-42c9-9a79-3e9149a57833"`)}, {typed("Binary", `""`), typed("Binary", `""`)},
		{`"V":null`, ``}, {typed("DateTime", `null`), ``}, {`"V":""`, `"V":""`}, {`"V":"  "`, `"V":"  "`}, {`"V":"NaN"`, `"V":"NaN"`},
		{`"V":"é","V@odata.type":"Edm.String"`, `"V":"\u00e9"`}, {`"A":1,"a":2`, `"A":1,"a":2`}, {`"Timestamp":"0001-01-01T00:00:00Z","odata.etag":"x","V":1`, `"V":1`},
		{`"RowKey@odata.type":"Edm.String","V":1`, `"V":1`}, {`"V":"` + strings.Repeat("x", 32768) + `"`, `"V":"` + strings.Repeat("x", 32768) + `"`},
	} {
		row := fmt.Sprint("r", i)
		r.insert(row, c.sent)
		if got := r.stored(row); got != c.want {
			t.Errorf("insert of %.100s: got %.100s; want %.100s", c.sent, got, c.want)
		}
	}
}

// TestRefusedEntities: entities over the limits of the live service fail with the service's errors.
func TestRefusedEntities(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	const (
		input = "InvalidInput One of the request inputs is not valid."

		processing = "InvalidInput An error occurred while processing this request."
		ranged     = "OutOfRangeInput One of the request inputs is out of range."
		named      = "PropertyNameInvalid The property name is invalid."
		tooMany    = "TooManyProperties The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties."
		value      = "PropertyValueTooLarge The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less."
		large      = "EntityTooLarge The entity is larger than the maximum allowed size (1MB)."
	)
	properties := func(n int, value string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"p%03d":%s`, i, value))
		}
		return strings.Join(all, ",")
	}
	typed := func(typ, value string) string { return `"V@odata.type":"Edm.` + typ + `","V":` + value }
	text := `"` + strings.Repeat("x", 32767) + `"`
	for sent, want := range map[string]string{
		properties(253, "1"): tooMany, `"` + strings.Repeat("a", 256) + `":1`: "PropertyNameTooLong The property name exceeds the maximum allowed length (255).",
		`"123":1`: named, `"a-b":1`: named, `"a b":1`: named, `"":1`: named,
		`"V":"` + strings.Repeat("x", 32769) + `"`: value, `"V":"` + strings.Repeat("😀", 16385) + `"`: value, typed("Binary", `"`+strings.Repeat("AAAA", 21846)+`"`): value,
		properties(15, text) + `,"last":` + text: "", properties(16, text): large,
		typed("Int64", `"9223372036854775808"`): processing, typed("Int64", `4294967296`): processing, typed("Int64", `"x"`): processing, typed("Int32", `"2147483648"`): input, typed("Int32", `1.5`): input,
		typed("Boolean", `"yes"`): input, typed("Boolean", `1`): input, typed("Double", `"0x10"`): input, typed("Guid", `"x"`): input, typed("Binary", `"%%%"`): input, typed("Binary", `"QQ"`): input,
		typed("DateTime", `"1600-12-31T23:59:59Z"`): ranged, typed("DateTime", `"0001-01-01T00:00:00Z"`): ranged, typed("DateTime", `"2020-13-01T00:00:00Z"`): input, typed("DateTime", `"2020-01-01T00:00:00.12345678Z"`): input,
		typed("DateTime", `"yesterday"`): input, typed("DateTime", `"10000-01-01T00:00:00Z"`): input, typed("DateTime", `5`): input,
		typed("Decimal", `"1"`): input, typed("String", `1`): input, `"V@odata.type":5,"V":1`: input, `"V@odata.type":"Edm.Int64"`: input,
		`"V":{}`: input, `"V":[1]`: input, `"V":1,"V":2`: input, `"V":"\ud800"`: input, `"V":"\udc00\ud800"`: input, "\"V\":\"\xff\"": input, `"V":tru`: input, `"V":01`: input,
	} {
		a := r.send("POST", "/staff", `{"PartitionKey":"p","RowKey":"r",`+sent+`}`)
		code, message, _ := strings.Cut(want, " ")
		if want == "" {
			if a.status != 400 || !strings.Contains(a.body, "EntityTooLarge") {
				t.Errorf("insert of %.60s: got %d %.200s; want 400 EntityTooLarge", sent, a.status, a.body)
			}
			continue
		}
		r.expectError(a, 400, code, message)
	}
	for body, want := range map[string]string{
		`{"PartitionKey":"p"}`: "PropertiesNeedValue The values are not specified for all properties in the entity.", `{}`: "PropertiesNeedValue The values are not specified for all properties in the entity.",
		`{"PartitionKey":"p","RowKey":1}`: input, `{"PartitionKey":null,"RowKey":"r"}`: input, `[]`: input, `"x"`: input, `{`: input, `{}{}`: input, "\xff": input,
		`{"PartitionKey":"p","RowKey":"a/b"}`: ranged, `{"PartitionKey":"p#","RowKey":"r"}`: ranged, `{"PartitionKey":"p","RowKey":"a?"}`: ranged, `{"PartitionKey":"p","RowKey":"a\\b"}`: ranged,
		`{"PartitionKey":"p","RowKey":"a\u0001"}`: ranged, `{"PartitionKey":"p","RowKey":"a\u009f"}`: ranged, `{"PartitionKey":"p","RowKey":"a\t"}`: ranged,
		`{"PartitionKey":"p","RowKey":"` + strings.Repeat("x", 513) + `"}`: "KeyValueTooLarge The key value exceeds the maximum allowed size (1KB).", `{"PartitionKey":"` + strings.Repeat("😀", 257) + `","RowKey":"r"}`: "KeyValueTooLarge The key value exceeds the maximum allowed size (1KB).",
	} {
		code, message, _ := strings.Cut(want, " ")
		r.expectError(r.send("POST", "/staff", body), 400, code, message)
	}
	if rows := r.Rows("staff"); len(rows) != 0 {
		t.Errorf("got rows %v; want none", rows)
	}
	// The limits apply to the merged entity.
	r.insert("r", properties(252, "1"))
	r.expectError(r.send("PATCH", "/staff(PartitionKey='p',RowKey='r')", `{"one":1}`, "If-Match", "*"), 400, "TooManyProperties", strings.TrimPrefix(tooMany, "TooManyProperties "))
	r.expect(r.send("PATCH", "/staff(PartitionKey='p',RowKey='r')", `{"p000":2}`, "If-Match", "*"), 204, "")
}

// TestEntitySize: an entity may have 1 MiB by the documented formula, and no byte more.
func TestEntitySize(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	body := func(last int) string {
		s := `{"PartitionKey":"p","RowKey":"r"`
		for i := range 15 {
			s += fmt.Sprintf(`,"p%02d":"%s"`, i, strings.Repeat("x", 32768))
		}
		return s + `,"last":"` + strings.Repeat("x", last) + `"}`
	}
	// The keys count 4 bytes and two per character. A text counts 8 bytes, two per character of the name, 4 bytes, and two per
	// character.
	room := (1<<20 - (4 + 2*2) - 15*(8+2*3+4+2*32768) - (8 + 2*4 + 4)) / 2
	r.expect(r.send("POST", "/staff", body(room), "Prefer", "return-no-content"), 204, "")
	r.expectError(r.send("PUT", "/staff(PartitionKey='p',RowKey='r')", body(room+1)), 400, "EntityTooLarge", "The entity is larger than the maximum allowed size (1MB).")
}

// TestRefusedRequests: a malformed request fails and changes nothing.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	r.insert("r", "")
	const row = "/staff(PartitionKey='p',RowKey='r')"
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
		header             []string
	}{
		{"GET", "/staff(PartitionKey='p',RowKey='O'Brien')", "", 400, "InvalidInput", nil},
		{"GET", "/staff(PartitionKey='p')", "", 400, "InvalidInput", nil},
		{"GET", "/staff(PartitionKey='p',RowKey='a/b')", "", 400, "InvalidInput", nil},
		{"GET", "/staff(RowKey='r',RowKey='r')", "", 400, "InvalidInput", nil},
		{"GET", "/staff(PartitionKey=p,RowKey=r)", "", 400, "InvalidInput", nil},
		{"GET", "/staff(PartitionKey='p',RowKey='r'", "", 400, "InvalidInput", nil},
		{"GET", "/staff(PartitionKey='p',RowKey='r')x", "", 400, "InvalidInput", nil},
		{"GET", "/other" + row[6:], "", 404, "TableNotFound", nil},
		{"GET", "/staff()/more", "", 400, "InvalidInput", nil},
		{"GET", "/", "", 501, "NotImplemented", nil},
		{"GET", "/?comp=userdelegationkey&restype=service", "", 501, "NotImplemented", nil},
		{"GET", "/$batch", "", 405, "MethodNotAllowed", nil},
		{"POST", row, `{}`, 405, "MethodNotAllowed", nil},
		{"PUT", "/staff", `{}`, 405, "MethodNotAllowed", nil},
		{"PUT", "/Tables", `{}`, 405, "MethodNotAllowed", nil},
		{"POST", "/Tables", `{"Name":"x"}`, 400, "InvalidInput", nil},
		{"POST", "/Tables", `{"TableName":5}`, 400, "InvalidInput", nil},
		{"POST", "/Tables", `no`, 400, "InvalidInput", nil},
		{"POST", "/staff", `{"PartitionKey":"p","RowKey":"x"}`, 415, "MediaTypeNotSupported", []string{"Content-Type", "text/plain"}},
		{"POST", "/staff", `{"PartitionKey":"p","RowKey":"x"}`, 415, "MediaTypeNotSupported", []string{"Content-Type", "-"}},
		{"GET", row, "", 415, "MediaTypeNotSupported", []string{"Accept", "application/atom+xml"}},
		{"GET", row, "", 415, "MediaTypeNotSupported", []string{"x-ms-version", "-"}},
		{"GET", "/staff()?$top=0", "", 400, "InvalidInput", nil},
		{"GET", "/staff()?$top=1001", "", 400, "InvalidInput", nil},
		{"GET", "/staff()?$top=x", "", 400, "InvalidInput", nil},
		{"GET", "/staff()?$top=1&$top=2", "", 400, "InvalidInput", nil},
		{"GET", "/staff()?NextPartitionKey=1!4!cA--&NextRowKey=", "", 400, "InvalidInput", nil},
		{"GET", "/staff()?NextRowKey=1!4!cA--", "", 400, "InvalidInput", nil},
		{"GET", "/staff()?NextPartitionKey=1!5!cA--", "", 400, "InvalidInput", nil},
		{"GET", "/staff()?NextPartitionKey=nonsense", "", 400, "InvalidInput", nil},
		{"GET", "/staff()?$select=a,,b", "", 400, "InvalidInput", nil},
		{"GET", "/staff()?$orderby=a", "", 501, "NotImplemented", nil},
		{"GET", "/staff()?$filter=%zz", "", 400, "InvalidInput", nil},
		{"GET", "/staff(PartitionKey='%FF',RowKey='r')", "", 400, "InvalidInput", nil},
		{"GET", "/staff(PartitionKey='p',RowKey='a%5Cb')", "", 400, "OutOfRangeInput", nil},
		{"DELETE", "/staff(PartitionKey='p',RowKey='r')", "", 400, "InvalidInput", []string{"If-Match", "x"}},
		{"DELETE", "/staff(PartitionKey='p',RowKey='r')", "", 412, "ConditionNotMet", []string{"If-Match", `W/"x"`}},
		{"DELETE", "/staff(PartitionKey='p',RowKey='a%0Ab')", "", 400, "OutOfRangeInput", []string{"If-Match", "*"}},
		{"POST", "/staff", `{"PartitionKey":"p","RowKey":"x","V":"` + strings.Repeat(" ", 4<<20) + `"}`, 413, "RequestBodyTooLarge", nil},
	} {
		a := r.send(c.method, c.path, c.body, c.header...)
		if a.status != c.status || !strings.Contains(a.body, `"code":"`+c.code+`"`) {
			t.Errorf("%s %s: got %d %s; want %d %s", c.method, c.path, a.status, a.body, c.status, c.code)
		}
	}
	if rows := r.Rows("staff"); len(rows) != 1 || rows[0].RowKey != "r" {
		t.Errorf("got rows %v; want r alone", rows)
	}
}

// TestManyNames: the time to parse a body is linear in its length, even with many names.
func TestManyNames(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	r.expectError(r.send("POST", "/staff", `{"PartitionKey":"p","RowKey":"r",`+numberedProperties(60_000)+`}`), 400, "TooManyProperties", "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.")
}

// numberedProperties returns n properties as JSON without braces.
func numberedProperties(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"x%d":1`, i))
	}
	return strings.Join(all, ",")
}

// TestSemicolons: a semicolon is an ordinary character in a query.
func TestSemicolons(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	r.insert("a;b", "")
	r.expect(r.send("GET", "/staff()?$format=application/json;odata=nometadata&$select=RowKey&$filter=RowKey%20eq%20'a;b'", ""), 200, `{"value":[{"RowKey":"a;b"}]}`)
}

// TestRowsAreCopies: a change of a returned row does not change the stored row.
func TestRowsAreCopies(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	r.insert("r", `"B@odata.type":"Edm.Binary","B":"AQID"`)
	r.Rows("staff")[0].Get("B").([]byte)[0] = 99
	if got, want := r.stored("r"), `"B@odata.type":"Edm.Binary","B":"AQID"`; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

// TestRecreatedTable: the rows of a recreated table have later Timestamps than the rows of the deleted table.
func TestRecreatedTable(t *testing.T) {
	t.Parallel()
	r := &tableClient{newServiceClient(t, storagetest.Options{NameReuseDelay: -1})}
	last := ""
	for range 3 {
		r.expect(r.send("POST", "/Tables", `{"TableName":"staff"}`, "Prefer", "return-no-content"), 204, "")
		r.insert("r", "")
		if etag := r.Rows("staff")[0].ETag; etag <= last {
			t.Errorf("got ETag %s after %s; want a later ETag", etag, last)
		} else {
			last = etag
		}
		r.expect(r.send("DELETE", "/Tables('staff')", ""), 204, "")
		r.now = r.now.Add(-time.Hour)
	}
}
