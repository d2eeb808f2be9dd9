package storagetest_test

import (
	"fmt"
	"strings"
	"testing"
)

// op is one operation of a transaction, as clients write it.
func op(method, address, body string, header ...string) string {
	s := method + " " + address + " HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\n"
	for i := 0; i < len(header); i += 2 {
		s += header[i] + ": " + header[i+1] + "\r\n"
	}
	if body != "" {
		s += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return s + "\r\n" + body
}

func add(row string, header ...string) string {
	return op("POST", "/staff", `{"PartitionKey":"p","RowKey":"`+row+`"}`, append([]string{"Prefer", "return-no-content"}, header...)...)
}

// changes is the body of a transaction.
func changes(ops ...string) string {
	s := "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_2\r\n\r\n"
	for _, o := range ops {
		s += "--changeset_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + o + "\r\n"
	}
	return s + "--changeset_2--\r\n--batch_1--\r\n"
}

func (r *raw) batch(body string) answer {
	r.Helper()
	return r.send("POST", "/$batch", body, "Content-Type", "multipart/mixed; boundary=batch_1")
}

// set is a response with parts, as the live service writes it.
func set(parts ...string) string {
	s := "--batchresponse_GUID1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_GUID2\r\n\r\n"
	for _, p := range parts {
		s += "--changesetresponse_GUID2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + strings.ReplaceAll(p, "\n", "\r\n")
	}
	return s + "--changesetresponse_GUID2--\r\n--batchresponse_GUID1--\r\n"
}

// refusal is the one part of a transaction that failed, with further lines of its head.
func refusal(status, code, text, head string) string {
	if head == "" {
		head = "X-Content-Type-Options: nosniff\nCache-Control: no-cache\n"
	}
	return "HTTP/1.1 " + status + "\n" + head + "DataServiceVersion: 3.0;\nContent-Type: " + jsonMinimal + "\n\n" +
		`{"odata.error":{"code":"` + code + `","message":{"lang":"en-US","value":"` + text + `\nRequestId:ID\nTime:2017-10-02T20:21:54.8228007Z"}}}` + "\n"
}

const preferring = "X-Content-Type-Options: nosniff\nCache-Control: no-cache\nPreference-Applied: return-no-content\n"

// TestTransaction: the recorded exchange of every operation together, line by line.
func TestTransaction(t *testing.T) {
	t.Parallel()
	r := withTable(t)
	for i := range 5 {
		r.insert(fmt.Sprint("r", i), `"test":"old"`)
	}
	a := r.batch(changes(
		op("POST", "/staff", `{"PartitionKey":"p","RowKey":"new"}`, "Content-ID", "1", "Prefer", "return-no-content"),
		op("DELETE", "/staff(PartitionKey='p',RowKey='r1')", "", "Content-ID", "2", "If-Match", "*"),
		op("PUT", "https://storagename.table.storagetest.test/staff(PartitionKey='p',RowKey='r2')", `{"test":"new"}`, "Content-ID", "3", "If-Match", "*"),
		op("MERGE", "/staff(PartitionKey='p',RowKey='r3')", `{"more":1}`, "If-Match", stampETag),
		op("PATCH", "staff(PartitionKey='p',RowKey='r5')", `{"more":1}`, "Content-ID", "0"),
	))
	update := "HTTP/1.1 204 No Content\n%sX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;\nETag: %s\n\n\n"
	etag := map[string]string{}
	for _, row := range r.Rows("staff") {
		etag[row.RowKey] = row.ETag
	}
	at := "BASE/staff(PartitionKey='p',RowKey='new')"
	r.want(a, 202, set(
		"HTTP/1.1 204 No Content\nContent-ID: 1\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nPreference-Applied: return-no-content\nDataServiceVersion: 3.0;\nLocation: "+at+"\nDataServiceId: "+at+"\nETag: "+etag["new"]+"\n\n\n",
		"HTTP/1.1 204 No Content\nContent-ID: 2\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;\n\n\n",
		fmt.Sprintf(update, "Content-ID: 3\n", etag["r2"]), fmt.Sprintf(update, "", etag["r3"]), fmt.Sprintf(update, "", etag["r5"]),
	))
	if got := names(a.head); got != "Cache-Control Content-Type Date Server X-Content-Type-Options X-Ms-Request-Id X-Ms-Version" {
		t.Error(got)
	}
	if r.stored("r2") != `"test":"new"` || r.stored("r3") != `"more":1,"test":"old"` || r.stored("r5") != `"more":1` || len(etag) != 6 {
		t.Errorf("%v", r.Rows("staff"))
	}
	if etag["new"] == etag["r5"] || etag["r2"] <= stampETag {
		t.Errorf("Timestamps follow the order of the operations: %v", etag)
	}
	// An insert that asks for it gets its entity back. It is younger than the row that was deleted.
	later := `W/"datetime'2017-10-02T20%3A21%3A54.8238007Z'"`
	a = r.batch(changes(op("POST", "/staff", `{"PartitionKey":"p","RowKey":"back"}`, "Prefer", "return-content", "Content-ID", "7")))
	r.want(a, 202, set("HTTP/1.1 201 Created\nDataServiceVersion: 3.0;\nContent-Type: "+jsonMinimal+"\nContent-ID: 7\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nPreference-Applied: return-content\nLocation: BASE/staff(PartitionKey='p',RowKey='back')\nETag: "+later+"\n\n"+
		`{"odata.metadata":"BASE/$metadata#staff/@Element","odata.etag":"W/\"datetime'2017-10-02T20%3A21%3A54.8238007Z'\"","PartitionKey":"p","RowKey":"back","Timestamp":"2017-10-02T20:21:54.8238007Z"}`+"\n"))
	// Blanks and colons in addresses.
	for _, row := range []string{"a b", "a:b"} {
		if a := r.batch(changes(op("PUT", "staff(PartitionKey='p',RowKey='"+row+"')", `{}`))); !strings.Contains(a.body, "HTTP/1.1 204") {
			t.Errorf("%q: %s", row, a.body)
		}
	}
	// Bare line feeds, an empty set, a hundred operations.
	r.want(r.batch(strings.ReplaceAll(changes(op("DELETE", "/staff(PartitionKey='p',RowKey='back')", "", "If-Match", "*")), "\r\n", "\n")), 202, set("HTTP/1.1 204 No Content\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;\n\n\n"))
	r.want(r.batch(changes()), 202, set())
	var hundred []string
	for i := range 100 {
		hundred = append(hundred, add(fmt.Sprintf("h%03d", i)))
	}
	if a := r.batch(changes(hundred...)); a.status != 202 || strings.Count(a.body, "HTTP/1.1 204") != 100 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestTransactionRefused: one part for the operation that failed, and nothing done.
func TestTransactionRefused(t *testing.T) {
	t.Parallel()
	r := withTable(t)
	r.insert("taken", "")
	remove := func(row string) string {
		return op("DELETE", "/staff(PartitionKey='p',RowKey='"+row+"')", "", "If-Match", "*")
	}
	put := func(row, body, match string) string {
		return op("PUT", "/staff(PartitionKey='p',RowKey='"+row+"')", body, "If-Match", match)
	}
	const exists, missing, changed = "The specified entity already exists.", "The specified resource does not exist.", "The update condition specified in the request was not satisfied."
	big := `{"V":"` + strings.Repeat("x", 32769) + `"}`
	var many []string
	for i := range 101 {
		many = append(many, add(fmt.Sprint("m", i)))
	}
	for what, c := range map[string]struct {
		ops  []string
		part string
	}{
		"exists, the third":      {[]string{add("a"), add("b"), add("taken")}, refusal("409 Conflict", "EntityAlreadyExists", "2:"+exists, preferring)},
		"exists, alone":          {[]string{add("taken")}, refusal("409 Conflict", "EntityAlreadyExists", exists, preferring)},
		"missing, the second":    {[]string{add("a"), remove("b")}, refusal("404 Not Found", "ResourceNotFound", "1:"+missing, "")},
		"missing, alone":         {[]string{remove("b")}, refusal("404 Not Found", "ResourceNotFound", missing, "")},
		"changed":                {[]string{add("a"), put("taken", `{}`, `W/"x"`)}, refusal("412 Precondition Failed", "UpdateConditionNotSatisfied", "1:"+changed, "")},
		"with its Content-ID":    {[]string{op("PUT", "/staff(PartitionKey='p',RowKey='taken')", `{}`, "If-Match", `W/"x"`, "Content-ID", "5")}, refusal("412 Precondition Failed", "UpdateConditionNotSatisfied", changed, "Content-ID: 5\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\n")},
		"a row twice":            {[]string{add("a"), add("b"), add("c"), put("a", `{}`, "*")}, refusal("400 Bad Request", "InvalidDuplicateRow", "3:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.", "")},
		"two partitions":         {[]string{add("a"), op("POST", "/staff", `{"PartitionKey":"q","RowKey":"b"}`, "Prefer", "return-no-content")}, refusal("400 Bad Request", "CommandsInBatchActOnDifferentPartitions", "1:All commands in a batch must operate on same entity group.", preferring)},
		"101":                    {many, refusal("400 Bad Request", "InvalidInput", "99:The batch request operation exceeds the maximum 100 changes per change set.", preferring)},
		"no table":               {[]string{op("POST", "/nothere", `{"PartitionKey":"p","RowKey":"a"}`, "Prefer", "return-no-content")}, refusal("404 Not Found", "TableNotFound", "0:The table specified does not exist.", "X-Content-Type-Options: nosniff\n")},
		"too large a value":      {[]string{add("a"), put("taken", big, "*")}, refusal("400 Bad Request", "PropertyValueTooLarge", "1:The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.", "")},
		"a key that cannot be":   {[]string{op("POST", "/staff", `{"PartitionKey":"p","RowKey":"a/b"}`)}, refusal("400 Bad Request", "OutOfRangeInput", "0:One of the request inputs is out of range.", "")},
		"a numeric key":          {[]string{add("a"), op("POST", "/staff", `{"PartitionKey":"p","RowKey":1}`)}, refusal("400 Bad Request", "InvalidInput", "1:One of the request inputs is not valid.", "")},
		"an unknown type":        {[]string{add("a"), put("taken", `{"V@odata.type":"Edm.Nothing","V":1}`, "*")}, refusal("400 Bad Request", "InvalidInput", "1:One of the request inputs is not valid.", "")},
		"quotes not doubled":     {[]string{add("a"), op("PUT", "/staff(PartitionKey='p',RowKey='O'Brien')", `{}`)}, refusal("400 Bad Request", "InvalidInput", "1:There is an unterminated string literal at position 33 in 'PartitionKey='p',RowKey='O'Brien''.", "X-Content-Type-Options: nosniff\n")},
		"an escape that is none": {[]string{add("a"), op("PUT", "/staff(PartitionKey='p',RowKey='%zz')", `{}`)}, refusal("400 Bad Request", "InvalidInput", "1:Bad Request - Error in query syntax.", "X-Content-Type-Options: nosniff\n")},
		"another format":         {[]string{add("a"), strings.Replace(add("b"), "application/json;odata=minimalmetadata", "application/atom+xml", 1)}, refusal("415 Unsupported Media Type", "MediaTypeNotSupported", "1:None of the provided media types are supported", preferring)},
		"a delete, no condition": {[]string{add("a"), op("DELETE", "/staff(PartitionKey='p',RowKey='taken')", "")}, refusal("400 Bad Request", "MissingRequiredHeader", "1:An HTTP header that's mandatory for this request is not specified.", "")},
		"a GET among writes":     {[]string{add("a"), op("GET", "/staff(PartitionKey='p',RowKey='taken')", "")}, refusal("400 Bad Request", "InvalidInput", "1:One of the request inputs is not valid.", "")},
	} {
		before := fmt.Sprint(r.Rows("staff"))
		r.want(r.batch(changes(c.ops...)), 202, set(c.part))
		if after := fmt.Sprint(r.Rows("staff")); after != before {
			t.Errorf("%s: half a transaction: %s", what, after)
		}
	}
	// One GET alone stands in no change set.
	get := func(row string) string {
		return "--batch_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + op("GET", "/staff(PartitionKey='p',RowKey='"+row+"')", "") + "\r\n--batch_1--"
	}
	const head = "--batchresponse_GUID1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
	if a := r.batch(get("taken")); a.status != 202 || !strings.HasPrefix(a.body, head+"HTTP/1.1 200 OK\r\nDataServiceVersion: 3.0;\r\n") || !strings.HasSuffix(a.body, `"RowKey":"taken","Timestamp":"`+stamp+`"}`+"\r\n--batchresponse_GUID1--\r\n") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := r.batch(get("gone")); !strings.HasPrefix(a.body, head+"HTTP/1.1 404 Not Found\r\n") || !strings.Contains(a.body, `"0:The specified resource does not exist.`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	// The one limit of a request as a whole.
	a := r.batch(changes(add("a", "X-Filler", strings.Repeat("x", 4<<20))))
	r.fails(a, 413, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit.")
}

// TestMalformedTransactions: cut anywhere, or put together wrongly, none is half done.
func TestMalformedTransactions(t *testing.T) {
	t.Parallel()
	r := withTable(t)
	whole := changes(add("a"), add("b"))
	certain := strings.LastIndex(whole, "--batch_1--") + len("--batch_1--")
	for cut := range certain {
		if a := r.batch(whole[:cut]); a.status != 400 || len(r.Rows("staff")) != 0 {
			t.Fatalf("cut at %d: %d %s, %v", cut, a.status, a.body, r.Rows("staff"))
		}
	}
	for what, body := range map[string]string{
		"another boundary":       strings.ReplaceAll(whole, "batch_1", "batch_9"),
		"another inner one":      strings.Replace(whole, "changeset_2", "changeset_9", 1),
		"something before":       "x\r\n" + whole,
		"something after":        whole + "more",
		"two change sets":        strings.Replace(whole, "--batch_1--", strings.TrimSuffix(whole, "--batch_1--\r\n")+"--batch_1--", 1),
		"no request line":        changes("\r\n"),
		"no HTTP":                changes("POST /staff\r\n\r\n{}"),
		"another host":           changes(op("POST", "http://elsewhere/staff", `{"PartitionKey":"p","RowKey":"a"}`)),
		"a part of another kind": strings.Replace(whole, "application/http", "text/plain", 1),
		"two GETs":               "--batch_1\r\nContent-Type: application/http\r\n\r\n" + op("GET", "/staff(PartitionKey='p',RowKey='a')", "") + "\r\n--batch_1\r\nContent-Type: application/http\r\n\r\n" + op("GET", "/staff(PartitionKey='p',RowKey='a')", "") + "\r\n--batch_1--",
		"a write in no set":      "--batch_1\r\nContent-Type: application/http\r\n\r\n" + add("a") + "\r\n--batch_1--",
		"a head that is none":    changes("POST /staff HTTP/1.1\r\nnonsense\r\n\r\n{}"),
	} {
		if a := r.batch(body); a.status != 400 || len(r.Rows("staff")) != 0 {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	for _, mime := range []string{"-", "application/json", "multipart/mixed", "multipart/mixed; boundary="} {
		if a := r.send("POST", "/$batch", whole, "Content-Type", mime); a.status != 400 || len(r.Rows("staff")) != 0 {
			t.Errorf("%s: %d %s", mime, a.status, a.body)
		}
	}
	if a := r.batch(whole); a.status != 202 || len(r.Rows("staff")) != 2 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// FuzzBatch: no body breaks the service, and whatever it says is all or nothing.
func FuzzBatch(f *testing.F) {
	f.Add(changes(add("a"), add("b")))
	f.Add(changes(op("PUT", "/staff(PartitionKey='p',RowKey='r')", `{"A":1}`), op("DELETE", "/staff(PartitionKey='p',RowKey='old')", "", "If-Match", "*")))
	f.Add(changes(add("a"), add("old")))
	f.Add(strings.ReplaceAll(changes(add("a")), "\r\n", "\n"))
	f.Fuzz(func(t *testing.T, body string) {
		r := withTable(t)
		r.insert("old", `"A":1`)
		before := fmt.Sprint(r.Rows("staff"))
		a := r.batch(body)
		after := r.Rows("staff")
		switch {
		case a.status == 202 && !strings.Contains(a.body, "odata.error"):
			if n := strings.Count(a.body, "HTTP/1.1 2"); n > 100 {
				t.Fatalf("%d operations", n)
			}
		case a.status != 202 && a.status != 400 && a.status != 413 && a.status != 415:
			t.Fatalf("%d %s", a.status, a.body)
		case fmt.Sprint(after) != before:
			t.Fatalf("half a transaction: %v after %d %s", after, a.status, a.body)
		}
	})
}
