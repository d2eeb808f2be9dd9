package storagetest_test

import (
	"fmt"
	"strings"
	"testing"
)

// op returns an operation of a transaction, as clients send it.
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

// add returns an insert of the entity ('p', row).
func add(row string, header ...string) string {
	return op("POST", "/staff", `{"PartitionKey":"p","RowKey":"`+row+`"}`, append([]string{"Prefer", "return-no-content"}, header...)...)
}

// changeSet returns the body of a transaction.
func changeSet(ops ...string) string {
	s := "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_2\r\n\r\n"
	for _, o := range ops {
		s += "--changeset_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + o + "\r\n"
	}
	return s + "--changeset_2--\r\n--batch_1--\r\n"
}

// transact sends a transaction.
func (r *tableClient) transact(body string) response {
	r.Helper()
	return r.send("POST", "/$batch", body, "Content-Type", "multipart/mixed; boundary=batch_1")
}

// transactionResponse returns the body of a response with parts, as the live service sends it.
func transactionResponse(parts ...string) string {
	s := "--batchresponse_GUID1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_GUID2\r\n\r\n"
	for _, p := range parts {
		s += "--changesetresponse_GUID2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + strings.ReplaceAll(p, "\n", "\r\n")
	}
	return s + "--changesetresponse_GUID2--\r\n--batchresponse_GUID1--\r\n"
}

// failedPart returns the part of the response to a failed transaction. An empty header stands for the usual header.
func failedPart(status, code, text, header string) string {
	if header == "" {
		header = "X-Content-Type-Options: nosniff\nCache-Control: no-cache\n"
	}
	return "HTTP/1.1 " + status + "\n" + header + "DataServiceVersion: 3.0;\nContent-Type: " + jsonMinimal + "\n\n" +
		`{"odata.error":{"code":"` + code + `","message":{"lang":"en-US","value":"` + text + `\nRequestId:ID\nTime:2017-10-02T20:21:54.8228007Z"}}}` + "\n"
}

// noContentHeader is the header of a failed operation that prefers no content.
const noContentHeader = "X-Content-Type-Options: nosniff\nCache-Control: no-cache\nPreference-Applied: return-no-content\n"

// TestTransaction: the response to a transaction with each operation equals the recorded response.
func TestTransaction(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	for i := range 5 {
		r.insert(fmt.Sprint("r", i), `"test":"old"`)
	}
	a := r.transact(changeSet(
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
	r.expect(a, 202, transactionResponse(
		"HTTP/1.1 204 No Content\nContent-ID: 1\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nPreference-Applied: return-no-content\nDataServiceVersion: 3.0;\nLocation: "+at+"\nDataServiceId: "+at+"\nETag: "+etag["new"]+"\n\n\n",
		"HTTP/1.1 204 No Content\nContent-ID: 2\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;\n\n\n",
		fmt.Sprintf(update, "Content-ID: 3\n", etag["r2"]), fmt.Sprintf(update, "", etag["r3"]), fmt.Sprintf(update, "", etag["r5"]),
	))
	if got, want := headerNames(a.header), "Cache-Control Content-Type Date Server X-Content-Type-Options X-Ms-Request-Id X-Ms-Version"; got != want {
		t.Errorf("got headers %s; want %s", got, want)
	}
	if r.stored("r2") != `"test":"new"` || r.stored("r3") != `"more":1,"test":"old"` || r.stored("r5") != `"more":1` || len(etag) != 6 {
		t.Errorf("got rows %v; want r2 replaced, r3 merged, and r5 merged", r.Rows("staff"))
	}
	if etag["new"] == etag["r5"] || etag["r2"] <= stampETag {
		t.Errorf("got ETags %v; want Timestamps that differ and are later than before", etag)
	}
	// With return-content, the response contains the entity. Its Timestamp is later than that of the deleted entity.
	later := `W/"datetime'2017-10-02T20%3A21%3A54.8238007Z'"`
	a = r.transact(changeSet(op("POST", "/staff", `{"PartitionKey":"p","RowKey":"back"}`, "Prefer", "return-content", "Content-ID", "7")))
	r.expect(a, 202, transactionResponse("HTTP/1.1 201 Created\nDataServiceVersion: 3.0;\nContent-Type: "+jsonMinimal+"\nContent-ID: 7\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nPreference-Applied: return-content\nLocation: BASE/staff(PartitionKey='p',RowKey='back')\nETag: "+later+"\n\n"+
		`{"odata.metadata":"BASE/$metadata#staff/@Element","odata.etag":"W/\"datetime'2017-10-02T20%3A21%3A54.8238007Z'\"","PartitionKey":"p","RowKey":"back","Timestamp":"2017-10-02T20:21:54.8238007Z"}`+"\n"))
	// Addresses may contain blanks and colons.
	for _, row := range []string{"a b", "a:b"} {
		if a := r.transact(changeSet(op("PUT", "staff(PartitionKey='p',RowKey='"+row+"')", `{}`))); !strings.Contains(a.body, "HTTP/1.1 204") {
			t.Errorf("row %q: got %s; want 204", row, a.body)
		}
	}
	// A transaction may have bare line feeds, no operations, or 100 operations.
	r.expect(r.transact(strings.ReplaceAll(changeSet(op("DELETE", "/staff(PartitionKey='p',RowKey='back')", "", "If-Match", "*")), "\r\n", "\n")), 202, transactionResponse("HTTP/1.1 204 No Content\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\nDataServiceVersion: 1.0;\n\n\n"))
	r.expect(r.transact(changeSet()), 202, transactionResponse())
	var hundred []string
	for i := range 100 {
		hundred = append(hundred, add(fmt.Sprintf("h%03d", i)))
	}
	if a := r.transact(changeSet(hundred...)); a.status != 202 || strings.Count(a.body, "HTTP/1.1 204") != 100 {
		t.Errorf("100 operations: got %d %s; want 100 parts with 204", a.status, a.body)
	}
}

// TestFailedTransactions: the response has one part, for the failed operation, and the transaction changes nothing.
func TestFailedTransactions(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	r.insert("taken", "")
	remove := func(row string) string {
		return op("DELETE", "/staff(PartitionKey='p',RowKey='"+row+"')", "", "If-Match", "*")
	}
	put := func(row, body, match string) string {
		return op("PUT", "/staff(PartitionKey='p',RowKey='"+row+"')", body, "If-Match", match)
	}
	const otherETag = `W/"datetime'2012-06-15T22%3A51%3A44.9662825Z'"`
	const exists, missing, changed = "The specified entity already exists.", "The specified resource does not exist.", "The update condition specified in the request was not satisfied."
	big := `{"V":"` + strings.Repeat("x", 32769) + `"}`
	var many []string
	for i := range 101 {
		many = append(many, add(fmt.Sprint("m", i)))
	}
	for name, c := range map[string]struct {
		ops  []string
		part string
	}{
		"existing entity as the third operation": {[]string{add("a"), add("b"), add("taken")}, failedPart("409 Conflict", "EntityAlreadyExists", "2:"+exists, noContentHeader)},
		"existing entity as the only operation":  {[]string{add("taken")}, failedPart("409 Conflict", "EntityAlreadyExists", exists, noContentHeader)},
		"missing entity as the second operation": {[]string{add("a"), remove("b")}, failedPart("404 Not Found", "ResourceNotFound", "1:"+missing, "")},
		"missing entity as the only operation":   {[]string{remove("b")}, failedPart("404 Not Found", "ResourceNotFound", missing, "")},
		"changed entity":                         {[]string{add("a"), put("taken", `{}`, otherETag)}, failedPart("412 Precondition Failed", "UpdateConditionNotSatisfied", "1:"+changed, "")},
		"failed operation with a Content-ID":     {[]string{op("PUT", "/staff(PartitionKey='p',RowKey='taken')", `{}`, "If-Match", otherETag, "Content-ID", "5")}, failedPart("412 Precondition Failed", "UpdateConditionNotSatisfied", changed, "Content-ID: 5\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\n")},
		"one row twice":                          {[]string{add("a"), add("b"), add("c"), put("a", `{}`, "*")}, failedPart("400 Bad Request", "InvalidDuplicateRow", "3:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.", "")},
		"two partitions":                         {[]string{add("a"), op("POST", "/staff", `{"PartitionKey":"q","RowKey":"b"}`, "Prefer", "return-no-content")}, failedPart("400 Bad Request", "CommandsInBatchActOnDifferentPartitions", "1:All commands in a batch must operate on same entity group.", noContentHeader)},
		"101 operations":                         {many, failedPart("400 Bad Request", "InvalidInput", "99:The batch request operation exceeds the maximum 100 changes per change set.", noContentHeader)},
		"missing table":                          {[]string{op("POST", "/nothere", `{"PartitionKey":"p","RowKey":"a"}`, "Prefer", "return-no-content")}, failedPart("404 Not Found", "TableNotFound", "0:The table specified does not exist.", "X-Content-Type-Options: nosniff\n")},
		"too large value":                        {[]string{add("a"), put("taken", big, "*")}, failedPart("400 Bad Request", "PropertyValueTooLarge", "1:The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.", "")},
		"invalid key":                            {[]string{op("POST", "/staff", `{"PartitionKey":"p","RowKey":"a/b"}`)}, failedPart("400 Bad Request", "OutOfRangeInput", "0:One of the request inputs is out of range.", "")},
		"numeric key":                            {[]string{add("a"), op("POST", "/staff", `{"PartitionKey":"p","RowKey":1}`)}, failedPart("400 Bad Request", "InvalidInput", "1:One of the request inputs is not valid.", "")},
		"unknown type":                           {[]string{add("a"), put("taken", `{"V@odata.type":"Edm.Nothing","V":1}`, "*")}, failedPart("400 Bad Request", "InvalidInput", "1:One of the request inputs is not valid.", "")},
		"quote that is not doubled":              {[]string{add("a"), op("PUT", "/staff(PartitionKey='p',RowKey='O'Brien')", `{}`)}, failedPart("400 Bad Request", "InvalidInput", "1:There is an unterminated string literal at position 33 in 'PartitionKey='p',RowKey='O'Brien''.", "X-Content-Type-Options: nosniff\n")},
		"invalid escape":                         {[]string{add("a"), op("PUT", "/staff(PartitionKey='p',RowKey='%zz')", `{}`)}, failedPart("400 Bad Request", "InvalidInput", "1:Bad Request - Error in query syntax.", "X-Content-Type-Options: nosniff\n")},
		"Atom format":                            {[]string{add("a"), strings.Replace(add("b"), "application/json;odata=minimalmetadata", "application/atom+xml", 1)}, failedPart("415 Unsupported Media Type", "MediaTypeNotSupported", "1:None of the provided media types are supported", noContentHeader)},
		"delete without a condition":             {[]string{add("a"), op("DELETE", "/staff(PartitionKey='p',RowKey='taken')", "")}, failedPart("400 Bad Request", "MissingRequiredHeader", "1:An HTTP header that's mandatory for this request is not specified.", "")},
		"GET among writes":                       {[]string{add("a"), op("GET", "/staff(PartitionKey='p',RowKey='taken')", "")}, failedPart("400 Bad Request", "InvalidInput", "1:One of the request inputs is not valid.", "")},
	} {
		t.Run(name, func(t *testing.T) {
			r := r.forTest(t)
			before := fmt.Sprint(r.Rows("staff"))
			r.expect(r.transact(changeSet(c.ops...)), 202, transactionResponse(c.part))
			if after := fmt.Sprint(r.Rows("staff")); after != before {
				t.Errorf("got rows %s; want %s", after, before)
			}
		})
	}
	// A single GET is not in a change set.
	get := func(row string) string {
		return "--batch_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + op("GET", "/staff(PartitionKey='p',RowKey='"+row+"')", "") + "\r\n--batch_1--"
	}
	const header = "--batchresponse_GUID1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
	if a := r.transact(get("taken")); a.status != 202 || !strings.HasPrefix(a.body, header+"HTTP/1.1 200 OK\r\nDataServiceVersion: 3.0;\r\n") || !strings.HasSuffix(a.body, `"RowKey":"taken","Timestamp":"`+stamp+`"}`+"\r\n--batchresponse_GUID1--\r\n") {
		t.Errorf("GET of a stored entity: got %d %s; want 200 inside 202", a.status, a.body)
	}
	if a := r.transact(get("gone")); !strings.HasPrefix(a.body, header+"HTTP/1.1 404 Not Found\r\n") || !strings.Contains(a.body, `"0:The specified resource does not exist.`) {
		t.Errorf("GET of a missing entity: got %d %s; want 404 inside 202", a.status, a.body)
	}
	// A whole transaction may have 4 MiB.
	a := r.transact(changeSet(add("a", "X-Filler", strings.Repeat("x", 4<<20))))
	r.expectError(a, 413, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit.")
}

// TestMalformedTransactions: a truncated or otherwise malformed transaction fails and changes nothing.
func TestMalformedTransactions(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	whole := changeSet(add("a"), add("b"))
	end := strings.LastIndex(whole, "--batch_1--") + len("--batch_1--")
	for cut := range end {
		if a := r.transact(whole[:cut]); a.status != 400 || len(r.Rows("staff")) != 0 {
			t.Fatalf("truncated at %d: got %d %s, rows %v; want 400 and no rows", cut, a.status, a.body, r.Rows("staff"))
		}
	}
	for name, body := range map[string]string{
		"another boundary":               strings.ReplaceAll(whole, "batch_1", "batch_9"),
		"another inner boundary":         strings.Replace(whole, "changeset_2", "changeset_9", 1),
		"text before the first boundary": "x\r\n" + whole,
		"text after the last boundary":   whole + "more",
		"two change sets":                strings.Replace(whole, "--batch_1--", strings.TrimSuffix(whole, "--batch_1--\r\n")+"--batch_1--", 1),
		"no request line":                changeSet("\r\n"),
		"no HTTP version":                changeSet("POST /staff\r\n\r\n{}"),
		"another type of part":           strings.Replace(whole, "application/http", "text/plain", 1),
		"two GETs":                       "--batch_1\r\nContent-Type: application/http\r\n\r\n" + op("GET", "/staff(PartitionKey='p',RowKey='a')", "") + "\r\n--batch_1\r\nContent-Type: application/http\r\n\r\n" + op("GET", "/staff(PartitionKey='p',RowKey='a')", "") + "\r\n--batch_1--",
		"write without a change set":     "--batch_1\r\nContent-Type: application/http\r\n\r\n" + add("a") + "\r\n--batch_1--",
		"malformed header":               changeSet("POST /staff HTTP/1.1\r\nnonsense\r\n\r\n{}"),
	} {
		if a := r.transact(body); a.status != 400 || len(r.Rows("staff")) != 0 {
			t.Errorf("%s: got %d %s, rows %v; want 400 and no rows", name, a.status, a.body, r.Rows("staff"))
		}
	}
	for _, mime := range []string{"-", "application/json", "multipart/mixed", "multipart/mixed; boundary="} {
		if a := r.send("POST", "/$batch", whole, "Content-Type", mime); a.status != 400 || len(r.Rows("staff")) != 0 {
			t.Errorf("Content-Type %s: got %d %s; want 400", mime, a.status, a.body)
		}
	}
	if a := r.transact(whole); a.status != 202 || len(r.Rows("staff")) != 2 {
		t.Errorf("the whole transaction: got %d %s; want 202 and two rows", a.status, a.body)
	}
}

// FuzzTransaction: no body crashes the service, and a transaction is executed completely or not at all.
func FuzzTransaction(f *testing.F) {
	f.Add(changeSet(add("a"), add("b")))
	f.Add(changeSet(op("PUT", "/staff(PartitionKey='p',RowKey='r')", `{"A":1}`), op("DELETE", "/staff(PartitionKey='p',RowKey='old')", "", "If-Match", "*")))
	f.Add(changeSet(add("a"), add("old")))
	f.Add(strings.ReplaceAll(changeSet(add("a")), "\r\n", "\n"))
	f.Fuzz(func(t *testing.T, body string) {
		r := newStaffClient(t)
		r.insert("old", `"A":1`)
		before := fmt.Sprint(r.Rows("staff"))
		a := r.transact(body)
		after := r.Rows("staff")
		switch {
		case a.status == 202 && !strings.Contains(a.body, "odata.error"):
			if n := strings.Count(a.body, "HTTP/1.1 2"); n > 100 {
				t.Fatalf("got %d operations; want at most 100", n)
			}
		case a.status != 202 && a.status != 400 && a.status != 413 && a.status != 415:
			t.Fatalf("got %d %s; want 202, 400, 413 or 415", a.status, a.body)
		case fmt.Sprint(after) != before:
			t.Fatalf("got rows %v after %d %s; want %s", after, a.status, a.body, before)
		}
	})
}
