package storagetest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const everyType = `{"binary": "YmluYXJ5", "age@odata.type": "Edm.Int64", "PartitionKey": "pk1", "ratio": 3.1, "age": "39", "married": true, "Birthday@odata.type": "Edm.DateTime", "sex": "male", "birthday@odata.type": "Edm.DateTime", "birthday": "1970-10-04T00:00:00Z", "evenratio": 3.0, "RowKey": "rk1", "clsid": "c9da6455-213d-42c9-9a79-3e9149a57833", "binary@odata.type": "Edm.Binary", "Birthday": "1973-10-04T00:00:00Z", "other": 20, "optional": null, "clsid@odata.type": "Edm.Guid", "deceased": false}`

const everyTypeStored = `"binary@odata.type":"Edm.Binary","binary":"YmluYXJ5","ratio":3.1,"age@odata.type":"Edm.Int64","age":"39","married":true,"sex":"male","birthday@odata.type":"Edm.DateTime","birthday":"1970-10-04T00:00:00Z","evenratio":3.0,"clsid@odata.type":"Edm.Guid","clsid":"c9da6455-213d-42c9-9a79-3e9149a57833","Birthday@odata.type":"Edm.DateTime","Birthday":"1973-10-04T00:00:00Z","other":20,"deceased":false`

func names(h http.Header) string {
	var all []string
	for name := range h {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestInsertAndGet: as the live service answered, in each level of metadata, heads and all.
func TestInsertAndGet(t *testing.T) {
	t.Parallel()
	r := withTable(t)
	a := r.send("POST", "/staff", everyType, "Prefer", "return-no-content", "x-ms-client-request-id", "mine")
	r.want(a, 204, "")
	at := "https://storagename.table.storagetest.test/staff(PartitionKey='pk1',RowKey='rk1')"
	for name, want := range map[string]string{
		"Cache-Control": "no-cache", "Content-Length": "0", "DataServiceId": at, "Location": at, "Date": "Mon, 02 Oct 2017 20:21:54 GMT", "ETag": stampETag, "Preference-Applied": "return-no-content",
		"Server": "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0", "X-Content-Type-Options": "nosniff", "x-ms-version": "2019-02-02", "x-ms-client-request-id": "mine",
	} {
		if got := a.head.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := names(a.head); got != "Cache-Control Content-Length Dataserviceid Date Etag Location Preference-Applied Server X-Content-Type-Options X-Ms-Client-Request-Id X-Ms-Request-Id X-Ms-Version" {
		t.Error(got)
	}
	const etag = `"odata.etag":"W/\"datetime'2017-10-02T20%3A21%3A54.8228007Z'\"",`
	const keys = `"PartitionKey":"pk1","RowKey":"rk1",`
	for accept, want := range map[string]string{
		"minimalmetadata": `{"odata.metadata":"BASE/$metadata#staff/@Element",` + etag + keys + `"Timestamp":"` + stamp + `",` + everyTypeStored + `}`,
		"fullmetadata": `{"odata.metadata":"BASE/$metadata#staff/@Element","odata.type":"storagename.staff","odata.id":"BASE/staff(PartitionKey='pk1',RowKey='rk1')",` + etag +
			`"odata.editLink":"staff(PartitionKey='pk1',RowKey='rk1')",` + keys + `"Timestamp@odata.type":"Edm.DateTime","Timestamp":"` + stamp + `",` + everyTypeStored + `}`,
		"nometadata": `{` + keys + `"Timestamp":"` + stamp + `","binary":"YmluYXJ5","ratio":3.1,"age":"39","married":true,"sex":"male","birthday":"1970-10-04T00:00:00Z","evenratio":3.0,"clsid":"c9da6455-213d-42c9-9a79-3e9149a57833","Birthday":"1973-10-04T00:00:00Z","other":20,"deceased":false}`,
	} {
		a := r.send("GET", "/staff(PartitionKey='pk1',RowKey='rk1')", "", "Accept", "application/json;odata="+accept)
		r.want(a, 200, want)
		if a.head.Get("ETag") != stampETag || a.head.Get("Content-Type") != "application/json;odata="+accept+";streaming=true;charset=utf-8" || a.head.Get("Content-Length") != "" {
			t.Errorf("%s: %v", accept, a.head)
		}
		// $format goes before Accept.
		r.want(r.send("GET", "/staff(PartitionKey='pk1',RowKey='rk1')?$format=application%2Fjson%3Bodata%3D"+accept, ""), 200, want)
	}
	// Without Prefer the entity comes back, and nothing is said of a preference; with return-content it is.
	for i, prefer := range []string{"-", "return-content"} {
		a := r.send("POST", "/staff", `{"PartitionKey":"pk`+string(rune('a'+i))+`","RowKey":"rk","A":1}`, "Prefer", prefer)
		want := `{"odata.metadata":"BASE/$metadata#staff/@Element",` + etag + `"PartitionKey":"pk` + string(rune('a'+i)) + `","RowKey":"rk","Timestamp":"` + stamp + `","A":1}`
		r.want(a, 201, want)
		if got := a.head.Get("Preference-Applied"); got != strings.Trim(prefer, "-") || a.head.Get("DataServiceId") != "" || a.head.Get("Location") == "" {
			t.Errorf("%v", a.head)
		}
	}
}

// TestUpdates: replace, merge and their upserts; conditions; the order of properties; ETags.
func TestUpdates(t *testing.T) {
	t.Parallel()
	r := withTable(t)
	r.insert("r", `"b":1,"B":2,"a":3`)
	const at = "/staff(PartitionKey='p',RowKey='r')"
	if got := r.stored("r"); got != `"b":1,"B":2,"a":3` {
		t.Errorf("after an insert: %s", got)
	}
	old := stampETag
	for _, c := range []struct {
		method, match, body string
		status              int
		want                string
	}{
		{"MERGE", "*", `{"a":4}`, 204, `"B":2,"a":4,"b":1`},
		{"PATCH", "", `{"c":5}`, 204, `"B":2,"a":4,"b":1,"c":5`},
		{"PATCH", "", `{"c":null,"PartitionKey":"other","RowKey":"other"}`, 204, `"B":2,"a":4,"b":1,"c":5`},
		{"PUT", "", `{"z":1,"Y":2}`, 204, `"Y":2,"z":1`},
		{"PUT", "ETAG", `{"x":1}`, 204, `"x":1`},
		{"PUT", `W/"datetime'2012-06-15T22%3A51%3A44.9662825Z'"`, `{"x":2}`, 412, `"x":1`},
		{"MERGE", old, `{"x":2}`, 412, `"x":1`},
	} {
		before := r.send("GET", at, "").head.Get("ETag")
		match := strings.Replace(c.match, "ETAG", before, 1)
		if match == "" {
			match = "-"
		}
		a := r.send(c.method, at, c.body, "If-Match", match)
		if a.status != c.status || r.stored("r") != c.want {
			t.Errorf("%s %s: %d, %s", c.method, c.body, a.status, r.stored("r"))
		}
		if c.status == 412 {
			r.fails(a, 412, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.")
			continue
		}
		// The clock stands still, and yet each version is a millisecond after the last.
		if after := a.head.Get("ETag"); after <= before || after != r.send("GET", at, "").head.Get("ETag") {
			t.Errorf("%s after %s", after, before)
		}
	}
	const missing = "/staff(PartitionKey='p',RowKey='missing')"
	for _, method := range []string{"PUT", "PATCH", "MERGE"} {
		r.fails(r.send(method, missing, `{}`, "If-Match", "*"), 404, "ResourceNotFound", "The specified resource does not exist.")
		r.fails(r.send(method, missing, `{}`, "If-Match", old), 404, "ResourceNotFound", "The specified resource does not exist.")
	}
	if a := r.send("PUT", missing, `{"A":1}`); a.status != 204 || a.head.Get("ETag") == "" || a.head.Get("Location") != "" {
		t.Errorf("%+v", a)
	}
	r.fails(r.send("DELETE", at, "", "If-Match", old), 412, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.")
	r.fails(r.send("DELETE", at, ""), 400, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified.")
	a := r.send("DELETE", at, "", "If-Match", "*")
	r.want(a, 204, "")
	if a.head.Get("ETag") != "" {
		t.Error("an ETag of what is gone")
	}
	r.fails(r.send("DELETE", at, "", "If-Match", "*"), 404, "ResourceNotFound", "The specified resource does not exist.")
	r.fails(r.send("GET", at, ""), 404, "ResourceNotFound", "The specified resource does not exist.")
	r.insert("r", "")
	if again := r.send("GET", at, "").head.Get("ETag"); again <= old {
		t.Errorf("a row that was deleted and created again has the ETag %s", again)
	}
	r.fails(r.send("POST", "/staff", `{"PartitionKey":"p","RowKey":"r"}`), 409, "EntityAlreadyExists", "The specified entity already exists.")
}

// TestClock: Timestamps follow it.
func TestClock(t *testing.T) {
	t.Parallel()
	r := withTable(t)
	r.insert("a", "")
	r.Advance(1500 * time.Millisecond)
	r.insert("b", "")
	r.now = r.now.Add(time.Hour)
	r.insert("c", "")
	rows := r.Rows("STAFF")
	if len(rows) != 3 || rows[1].Timestamp.Sub(rows[0].Timestamp) != 1500*time.Millisecond || rows[2].Timestamp.Sub(rows[1].Timestamp) != time.Hour {
		t.Errorf("%+v", rows)
	}
	if etag := rows[1].ETag; etag != `W/"datetime'2017-10-02T20%3A21%3A56.3228007Z'"` {
		t.Error(etag)
	}
}

// TestKeysOnTheWire: what stands in addresses, bodies and answers.
func TestKeysOnTheWire(t *testing.T) {
	t.Parallel()
	r := withTable(t)
	for _, c := range []struct{ key, address, location string }{
		{"a'b", "a''b", "a''b"},
		{"a'b", "a%27%27b", "a''b"},
		{`\"A'aaa\"_bbbb2`, "%22A%27%27aaa%22_bbbb2", "%22A''aaa%22_bbbb2"},
		{"ô %20 %27", "%C3%B4%20%2520%20%2527", "%C3%B4%20%2520%20%2527"},
		{"", "", ""},
		{strings.Repeat("x", 512), strings.Repeat("x", 512), strings.Repeat("x", 512)},
	} {
		a := r.send("POST", "/staff", `{"PartitionKey":"`+c.key+`","RowKey":"`+c.key+`"}`, "Prefer", "return-no-content")
		if want := "/staff(PartitionKey='" + c.location + "',RowKey='" + c.location + "')"; a.status != 204 || !strings.HasSuffix(a.head.Get("Location"), want) {
			t.Errorf("%q: %d %s", c.key, a.status, a.head.Get("Location"))
		}
		at := "/staff(PartitionKey='" + c.address + "',RowKey='" + c.address + "')"
		if a := r.send("GET", at, ""); a.status != 200 {
			t.Errorf("%q: %d %s", c.key, a.status, a.body)
		}
		if a := r.send("DELETE", at, "", "If-Match", "*"); a.status != 204 {
			t.Errorf("%q: %d %s", c.key, a.status, a.body)
		}
	}
	r.insert("éx", `"T":"é日😀\u0085\n\t\"\\/'"`)
	if got := r.stored("%C3%A9x"); got != `"T":"\u00e9\u65e5\ud83d\ude00\u0085\n\t\"\\/'"` {
		t.Error(got)
	}
}

// TestTables: their life, and for how long a name rests after it.
func TestTables(t *testing.T) {
	t.Parallel()
	r := newRaw(t)
	a := r.send("POST", "/Tables", `{"TableName":"Staff"}`)
	r.want(a, 201, `{"odata.metadata":"BASE/$metadata#Tables/@Element","TableName":"Staff"}`)
	if a.head.Get("Location") != "https://storagename.table.storagetest.test/Tables('Staff')" || a.head.Get("ETag") != "" {
		t.Error(a.head)
	}
	r.fails(r.send("POST", "/Tables", `{"TableName":"sTAFF"}`), 409, "TableAlreadyExists", "The table specified already exists.")
	r.fails(r.send("POST", "/Tables", `{"TableName":"my_table"}`), 400, "InvalidResourceName", "The specifed resource name contains invalid characters.")
	r.fails(r.send("POST", "/Tables", `{"TableName":"ab"}`), 400, "OutOfRangeInput", "One of the request inputs is out of range.")
	for _, name := range []string{"abc", "zzz"} {
		r.want(r.send("POST", "/Tables()", `{"TableName":"`+name+`"}`, "Prefer", "return-no-content"), 204, "")
	}
	r.want(r.send("GET", "/Tables", "", "Accept", "application/json;odata=nometadata"), 200, `{"value":[{"TableName":"abc"},{"TableName":"Staff"},{"TableName":"zzz"}]}`)
	a = r.send("GET", "/Tables?$top=2", "", "Accept", "application/json;odata=nometadata")
	r.want(a, 200, `{"value":[{"TableName":"abc"},{"TableName":"Staff"}]}`)
	r.want(r.send("GET", "/Tables?$top=2&NextTableName="+a.head.Get("x-ms-continuation-NextTableName"), "", "Accept", "application/json;odata=nometadata"), 200, `{"value":[{"TableName":"zzz"}]}`)
	r.want(r.send("GET", "/Tables?$filter=TableName%20ge%20'Staff'%20and%20TableName%20lt%20'Staff%7B'", ""), 200, `{"odata.metadata":"BASE/$metadata#Tables","value":[{"TableName":"Staff"}]}`)
	r.want(r.send("GET", "/Tables('abc')", ""), 200, `{"odata.metadata":"BASE/$metadata#Tables/@Element","TableName":"abc"}`)
	r.want(r.send("DELETE", "/Tables('STAFF')", ""), 204, "")
	r.fails(r.send("DELETE", "/Tables('staff')", ""), 404, "ResourceNotFound", "The specified resource does not exist.")
	r.fails(r.send("GET", "/Tables('staff')", ""), 404, "ResourceNotFound", "The specified resource does not exist.")
	r.fails(r.send("GET", "/staff(PartitionKey='p',RowKey='r')", ""), 404, "TableNotFound", "The table specified does not exist.")
	r.fails(r.send("POST", "/Tables", `{"TableName":"staff"}`), 409, "TableBeingDeleted", "The specified table is being deleted. Try operation later.")
	r.Advance(41 * time.Second)
	r.want(r.send("POST", "/Tables", `{"TableName":"staff"}`, "Prefer", "return-no-content"), 204, "")
	if rows := r.Rows("staff"); rows != nil {
		t.Errorf("%v", rows)
	}
}
