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

// headerNames returns the sorted names of a header.
func headerNames(h http.Header) string {
	var all []string
	for name := range h {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestInsertAndGet: responses equal the recorded responses of the live service in each level of metadata.
func TestInsertAndGet(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	a := r.send("POST", "/staff", everyType, "Prefer", "return-no-content", "x-ms-client-request-id", "mine")
	r.expect(a, 204, "")
	at := "https://storagename.table.storagetest.test/staff(PartitionKey='pk1',RowKey='rk1')"
	for name, want := range map[string]string{
		"Cache-Control": "no-cache", "Content-Length": "0", "DataServiceId": at, "Location": at, "Date": "Mon, 02 Oct 2017 20:21:54 GMT", "ETag": stampETag, "Preference-Applied": "return-no-content",
		"Server": "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0", "X-Content-Type-Options": "nosniff", "x-ms-version": "2019-02-02", "x-ms-client-request-id": "mine",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("header %s: got %q; want %q", name, got, want)
		}
	}
	const wantNames = "Cache-Control Content-Length Dataserviceid Date Etag Location Preference-Applied Server X-Content-Type-Options X-Ms-Client-Request-Id X-Ms-Request-Id X-Ms-Version"
	if got := headerNames(a.header); got != wantNames {
		t.Errorf("got headers %s; want %s", got, wantNames)
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
		r.expect(a, 200, want)
		if a.header.Get("ETag") != stampETag || a.header.Get("Content-Type") != "application/json;odata="+accept+";streaming=true;charset=utf-8" || a.header.Get("Content-Length") != "" {
			t.Errorf("%s: got header %v; want ETag %s, the content type of the level, and no Content-Length", accept, a.header, stampETag)
		}
		// $format takes precedence over Accept.
		r.expect(r.send("GET", "/staff(PartitionKey='pk1',RowKey='rk1')?$format=application%2Fjson%3Bodata%3D"+accept, ""), 200, want)
	}
	// Without Prefer the response contains the entity and no applied preference; with return-content, both.
	for i, prefer := range []string{"-", "return-content"} {
		a := r.send("POST", "/staff", `{"PartitionKey":"pk`+string(rune('a'+i))+`","RowKey":"rk","A":1}`, "Prefer", prefer)
		want := `{"odata.metadata":"BASE/$metadata#staff/@Element",` + etag + `"PartitionKey":"pk` + string(rune('a'+i)) + `","RowKey":"rk","Timestamp":"` + stamp + `","A":1}`
		r.expect(a, 201, want)
		if got := a.header.Get("Preference-Applied"); got != strings.Trim(prefer, "-") || a.header.Get("DataServiceId") != "" || a.header.Get("Location") == "" {
			t.Errorf("Prefer %s: got header %v; want the preference, a Location and no DataServiceId", prefer, a.header)
		}
	}
}

// TestUpdates tests replace, merge and upserts with their conditions, ETags and the order of properties.
func TestUpdates(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	r.insert("r", `"b":1,"B":2,"a":3`)
	const at = "/staff(PartitionKey='p',RowKey='r')"
	if got := r.stored("r"); got != `"b":1,"B":2,"a":3` {
		t.Errorf("after an insert: got %s; want the order of the insert", got)
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
		before := r.send("GET", at, "").header.Get("ETag")
		match := strings.Replace(c.match, "ETAG", before, 1)
		if match == "" {
			match = "-"
		}
		a := r.send(c.method, at, c.body, "If-Match", match)
		if a.status != c.status || r.stored("r") != c.want {
			t.Errorf("%s %s: got %d and %s; want %d and %s", c.method, c.body, a.status, r.stored("r"), c.status, c.want)
		}
		if c.status == 412 {
			r.expectError(a, 412, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.")
			continue
		}
		// Each version is later than the previous version, although the clock does not advance.
		if after := a.header.Get("ETag"); after <= before || after != r.send("GET", at, "").header.Get("ETag") {
			t.Errorf("got ETag %s after %s; want a later ETag, which a get returns too", after, before)
		}
	}
	const missing = "/staff(PartitionKey='p',RowKey='missing')"
	for _, method := range []string{"PUT", "PATCH", "MERGE"} {
		r.expectError(r.send(method, missing, `{}`, "If-Match", "*"), 404, "ResourceNotFound", "The specified resource does not exist.")
		r.expectError(r.send(method, missing, `{}`, "If-Match", old), 404, "ResourceNotFound", "The specified resource does not exist.")
	}
	if a := r.send("PUT", missing, `{"A":1}`); a.status != 204 || a.header.Get("ETag") == "" || a.header.Get("Location") != "" {
		t.Errorf("upsert of a missing entity: got %+v; want 204 with an ETag and no Location", a)
	}
	r.expectError(r.send("DELETE", at, "", "If-Match", old), 412, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.")
	r.expectError(r.send("DELETE", at, ""), 400, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified.")
	a := r.send("DELETE", at, "", "If-Match", "*")
	r.expect(a, 204, "")
	if got := a.header.Get("ETag"); got != "" {
		t.Errorf("delete: got ETag %s; want none", got)
	}
	r.expectError(r.send("DELETE", at, "", "If-Match", "*"), 404, "ResourceNotFound", "The specified resource does not exist.")
	r.expectError(r.send("GET", at, ""), 404, "ResourceNotFound", "The specified resource does not exist.")
	r.insert("r", "")
	if again := r.send("GET", at, "").header.Get("ETag"); again <= old {
		t.Errorf("an entity created after a delete: got ETag %s; want a later ETag than %s", again, old)
	}
	r.expectError(r.send("POST", "/staff", `{"PartitionKey":"p","RowKey":"r"}`), 409, "EntityAlreadyExists", "The specified entity already exists.")
}

// TestClock: Timestamps follow the clock.
func TestClock(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	r.insert("a", "")
	r.Advance(1500 * time.Millisecond)
	r.insert("b", "")
	r.now = r.now.Add(time.Hour)
	r.insert("c", "")
	rows := r.Rows("STAFF")
	if len(rows) != 3 || rows[1].Timestamp.Sub(rows[0].Timestamp) != 1500*time.Millisecond || rows[2].Timestamp.Sub(rows[1].Timestamp) != time.Hour {
		t.Errorf("got rows %+v; want Timestamps 1.5s and an hour apart", rows)
	}
	if got, want := rows[1].ETag, `W/"datetime'2017-10-02T20%3A21%3A56.3228007Z'"`; got != want {
		t.Errorf("got ETag %s; want %s", got, want)
	}
}

// TestKeyEncoding: addresses, bodies and responses encode keys as the live service does.
func TestKeyEncoding(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	for _, c := range []struct{ key, address, location string }{
		{"a'b", "a''b", "a''b"},
		{"a'b", "a%27%27b", "a''b"},
		{`\"A'aaa\"_bbbb2`, "%22A%27%27aaa%22_bbbb2", "%22A''aaa%22_bbbb2"},
		{"ô %20 %27", "%C3%B4%20%2520%20%2527", "%C3%B4%20%2520%20%2527"},
		{"", "", ""},
		{strings.Repeat("x", 512), strings.Repeat("x", 512), strings.Repeat("x", 512)},
	} {
		a := r.send("POST", "/staff", `{"PartitionKey":"`+c.key+`","RowKey":"`+c.key+`"}`, "Prefer", "return-no-content")
		if want := "/staff(PartitionKey='" + c.location + "',RowKey='" + c.location + "')"; a.status != 204 || !strings.HasSuffix(a.header.Get("Location"), want) {
			t.Errorf("insert of key %q: got %d, Location %s; want 204, …%s", c.key, a.status, a.header.Get("Location"), want)
		}
		at := "/staff(PartitionKey='" + c.address + "',RowKey='" + c.address + "')"
		if a := r.send("GET", at, ""); a.status != 200 {
			t.Errorf("get of key %q: got %d %s; want 200", c.key, a.status, a.body)
		}
		if a := r.send("DELETE", at, "", "If-Match", "*"); a.status != 204 {
			t.Errorf("delete of key %q: got %d %s; want 204", c.key, a.status, a.body)
		}
	}
	r.insert("éx", `"T":"é日😀\u0085\n\t\"\\/'"`)
	if got, want := r.stored("%C3%A9x"), `"T":"\u00e9\u65e5\ud83d\ude00\u0085\n\t\"\\/'"`; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

// TestTables: tables are created, queried and deleted, and the name of a deleted table is free after 40 seconds.
func TestTables(t *testing.T) {
	t.Parallel()
	r := newTableClient(t)
	a := r.send("POST", "/Tables", `{"TableName":"Staff"}`)
	r.expect(a, 201, `{"odata.metadata":"BASE/$metadata#Tables/@Element","TableName":"Staff"}`)
	if a.header.Get("Location") != "https://storagename.table.storagetest.test/Tables('Staff')" || a.header.Get("ETag") != "" {
		t.Errorf("create: got header %v; want a Location and no ETag", a.header)
	}
	r.expectError(r.send("POST", "/Tables", `{"TableName":"sTAFF"}`), 409, "TableAlreadyExists", "The table specified already exists.")
	r.expectError(r.send("POST", "/Tables", `{"TableName":"my_table"}`), 400, "InvalidResourceName", "The specifed resource name contains invalid characters.")
	r.expectError(r.send("POST", "/Tables", `{"TableName":"ab"}`), 400, "OutOfRangeInput", "One of the request inputs is out of range.")
	for _, name := range []string{"abc", "zzz"} {
		r.expect(r.send("POST", "/Tables()", `{"TableName":"`+name+`"}`, "Prefer", "return-no-content"), 204, "")
	}
	r.expect(r.send("GET", "/Tables", "", "Accept", "application/json;odata=nometadata"), 200, `{"value":[{"TableName":"abc"},{"TableName":"Staff"},{"TableName":"zzz"}]}`)
	a = r.send("GET", "/Tables?$top=2", "", "Accept", "application/json;odata=nometadata")
	r.expect(a, 200, `{"value":[{"TableName":"abc"},{"TableName":"Staff"}]}`)
	r.expect(r.send("GET", "/Tables?$top=2&NextTableName="+a.header.Get("x-ms-continuation-NextTableName"), "", "Accept", "application/json;odata=nometadata"), 200, `{"value":[{"TableName":"zzz"}]}`)
	r.expect(r.send("GET", "/Tables?$filter=TableName%20ge%20'Staff'%20and%20TableName%20lt%20'Staff%7B'", ""), 200, `{"odata.metadata":"BASE/$metadata#Tables","value":[{"TableName":"Staff"}]}`)
	r.expect(r.send("GET", "/Tables('abc')", ""), 200, `{"odata.metadata":"BASE/$metadata#Tables/@Element","TableName":"abc"}`)
	r.expect(r.send("DELETE", "/Tables('STAFF')", ""), 204, "")
	r.expectError(r.send("DELETE", "/Tables('staff')", ""), 404, "ResourceNotFound", "The specified resource does not exist.")
	r.expectError(r.send("GET", "/Tables('staff')", ""), 404, "ResourceNotFound", "The specified resource does not exist.")
	r.expectError(r.send("GET", "/staff(PartitionKey='p',RowKey='r')", ""), 404, "TableNotFound", "The table specified does not exist.")
	r.expectError(r.send("POST", "/Tables", `{"TableName":"staff"}`), 409, "TableBeingDeleted", "The specified table is being deleted. Try operation later.")
	r.Advance(41 * time.Second)
	r.expect(r.send("POST", "/Tables", `{"TableName":"staff"}`, "Prefer", "return-no-content"), 204, "")
	if rows := r.Rows("staff"); rows != nil {
		t.Errorf("a table created again: got rows %v; want none", rows)
	}
}
