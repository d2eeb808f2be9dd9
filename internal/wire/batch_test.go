package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// The exchanges repeat responses of the live service and of Cosmos DB that the tests of the SDKs recorded: the order, spelling and
// choice of headers, line ends, and messages.

const (
	batchGUID  = "batchresponse_9b659759-7bbb-45fd-a426-cf69614b55c4"
	changeGUID = "changesetresponse_e76ade11-abfb-4e93-bb9d-608c876c780b"
)

// set returns a response with the given parts.
func set(parts ...string) string {
	s := "--" + batchGUID + "\r\nContent-Type: multipart/mixed; boundary=" + changeGUID + "\r\n\r\n"
	for _, p := range parts {
		s += "--" + changeGUID + "\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + p + "\r\n"
	}
	return s + "--" + changeGUID + "--\r\n--" + batchGUID + "--\r\n"
}

// part returns one part of a response: status line, headers and body.
func part(status, body string, header ...string) string {
	return "HTTP/1.1 " + status + "\r\n" + strings.Join(header, "\r\n") + "\r\n\r\n" + body
}

const (
	nosniff   = "X-Content-Type-Options: nosniff"
	noCache   = "Cache-Control: no-cache"
	version1  = "DataServiceVersion: 1.0;"
	version3  = "DataServiceVersion: 3.0;"
	plainJSON = "Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
	quiet     = "Preference-Applied: return-no-content"
	where     = "https://storagename.table.core.windows.net/staff(PartitionKey='003',RowKey='x')"
)

// tag returns an ETag. The ETags of one transaction differ and have no order.
func tag(fraction int) azcore.ETag {
	return azcore.ETag(fmt.Sprintf(`W/"datetime'2017-10-02T20%%3A21%%3A26.%dZ'"`, fraction))
}

func inserted(fraction int) string {
	return part("204 No Content", "\r\n", nosniff, noCache, quiet, version3, "Location: "+where, "DataServiceId: "+where, "ETag: "+string(tag(fraction)))
}

func updated(fraction int) string {
	return part("204 No Content", "\r\n", nosniff, noCache, version1, "ETag: "+string(tag(fraction)))
}

func deleted() string { return part("204 No Content", "\r\n", nosniff, noCache, version1) }

func echoed(fraction int, id string) string {
	head := []string{version3, plainJSON}
	if id != "" {
		head = append(head, "Content-ID: "+id)
	}
	head = append(head, nosniff, noCache, "Preference-Applied: return-content", "Location: "+where, "ETag: "+string(tag(fraction)))
	return part("201 Created", `{"odata.metadata":"https://x/$metadata#staff/@Element","PartitionKey":"partition1","RowKey":"row4","Text":"--`+changeGUID+`"}`+"\r\n", head...)
}

// withID inserts a Content-ID after the status line, as the service does.
func withID(id, part string) string {
	line, rest, _ := strings.Cut(part, "\r\n")
	return line + "\r\nContent-ID: " + id + "\r\n" + rest
}

func refused(status, code, message string, header ...string) string {
	if header == nil {
		header = []string{nosniff, noCache, version3, plainJSON}
	}
	return part(status, `{"odata.error":{"code":"`+code+`","message":{"lang":"en-US","value":"`+message+`\nRequestId:6493f9d0-0002-00c7-0abc-3b2815000000\nTime:2017-10-02T20:21:34.0618764Z"}}}`+"\r\n", header...)
}

type exchange struct {
	name     string
	n        int // operations sent
	response string
	etags    []azcore.ETag
	index    int
	code     string
}

func exchanges() []exchange {
	preferring := []string{nosniff, noCache, quiet, version3, plainJSON}
	unfold := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	return []exchange{
		{name: "insert, delete, update, merge, two upserts; Content-IDs echoed", n: 6,
			response: set(withID("1", inserted(8694883)), withID("2", deleted()), withID("3", updated(7663717)), withID("4", updated(7854348)), withID("5", updated(8244597)), withID("6", updated(7673751))),
			etags:    []azcore.ETag{tag(8694883), "", tag(7663717), tag(7854348), tag(8244597), tag(7673751)}},
		{name: "no Content-ID", n: 2, response: set(inserted(1), deleted()), etags: []azcore.ETag{tag(1), ""}},
		{name: "Content-IDs in another order", n: 2, response: set(withID("2", inserted(1)), withID("1", updated(2))), etags: []azcore.ETag{tag(1), tag(2)}},
		{name: "entities echoed, the first without a Content-ID", n: 3, response: set(echoed(1, ""), echoed(1, "1"), echoed(1, "2")), etags: []azcore.ETag{tag(1), tag(1), tag(1)}},
		{name: "one operation, no index", n: 1, response: set(withID("1", refused("412 Precondition Failed", "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied."))), code: "UpdateConditionNotSatisfied"},
		{name: "one insert, no index", n: 1, response: set(refused("409 Conflict", "EntityAlreadyExists", "The specified entity already exists.", preferring...)), code: "EntityAlreadyExists"},
		{name: "one delete, no index", n: 1, response: set(refused("404 Not Found", "ResourceNotFound", "The specified resource does not exist.")), code: "ResourceNotFound"},
		{name: "the third of three", n: 3, response: set(refused("409 Conflict", "EntityAlreadyExists", "2:The specified entity already exists.", preferring...)), index: 2, code: "EntityAlreadyExists"},
		{name: "the second of two", n: 2, response: set(refused("404 Not Found", "ResourceNotFound", "1:The specified resource does not exist.")), index: 1, code: "ResourceNotFound"},
		{name: "a row twice", n: 2, response: set(withID("1", refused("400 Bad Request", "InvalidDuplicateRow", "1:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request."))), index: 1, code: "InvalidDuplicateRow"},
		{name: "a row twice, in the words of old versions", n: 2, response: set(withID("1", refused("400 Bad Request", "InvalidInput", "1:One of the request inputs is not valid."))), index: 1, code: "InvalidInput"},
		{name: "two partitions", n: 2, response: set(refused("400 Bad Request", "CommandsInBatchActOnDifferentPartitions", "1:All commands in a batch must operate on same entity group.", preferring...)), index: 1, code: "CommandsInBatchActOnDifferentPartitions"},
		{name: "no table", n: 1, response: set(refused("404 Not Found", "TableNotFound", "0:The table specified does not exist.", nosniff, version3, plainJSON)), code: "TableNotFound"},
		{name: "too many operations", n: 101, response: set(refused("400 Bad Request", "InvalidInput", "99:The batch request operation exceeds the maximum 100 changes per change set.", preferring...)), index: 99, code: "InvalidInput"},
		{name: "an index that was not sent", n: 2, response: set(refused("400 Bad Request", "InvalidInput", "99:The batch request operation exceeds the maximum 100 changes per change set.")), index: -1, code: "InvalidInput"},
		{name: "Cosmos DB: refused", n: 3, index: 2, code: "EntityAlreadyExists",
			response: "--" + batchGUID + "\r\nContent-Type: multipart/mixed; boundary=" + changeGUID + "\r\n\r\n--" + changeGUID + "\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n" +
				"HTTP/1.1 409 Conflict\r\nContent-Type: application/json;odata=fullmetadata\r\n\r\n" + `{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en-us","value":"2:The specified entity already exists.\n\nRequestID:5e4f03ea\n"}}}` +
				"\r\n--" + changeGUID + "--\n--" + batchGUID + "--\r\n"},
		{name: "a property too large", n: 13, response: set(refused("400 Bad Request", "PropertyValueTooLarge", "12:The property value exceeds the maximum allowed size (64KB).", preferring...)), index: 12, code: "PropertyValueTooLarge"},
		{name: "an address that the service cannot parse", n: 1, response: set(refused("400 Bad Request", "InvalidInput", "0:Syntax error: character '\\\"' is not valid at position 20 in 'PartitionKey=...'")), code: "InvalidInput"},
		{name: "line feeds alone", n: 2, response: unfold(set(inserted(1), updated(2))), etags: []azcore.ETag{tag(1), tag(2)}},
		{name: "an index one too high", n: 2, response: set(refused("404 Not Found", "ResourceNotFound", "2:The specified resource does not exist.")), index: -1, code: "ResourceNotFound"},
		{name: "nothing behind the closing boundary", n: 1, response: strings.TrimSuffix(set(inserted(1)), "\r\n"), etags: []azcore.ETag{tag(1)}},
	}
}

func TestResponses(t *testing.T) {
	t.Parallel()
	for _, x := range exchanges() {
		body := append(make([]byte, 0, 2*len(x.response)), x.response...)
		etags, failure, err := ParseBatchResponse(body, x.n)
		if string(body) != x.response {
			t.Errorf("%s: ParseBatchResponse changed the response", x.name)
		}
		switch {
		case err != nil:
			t.Errorf("%s: got %v, want a known outcome", x.name, err)
		case x.code == "" && (failure != nil || !slices.Equal(etags, x.etags)):
			t.Errorf("%s: got failure %+v, ETags %q; want ETags %q", x.name, failure, etags, x.etags)
		case x.code != "" && (failure == nil || failure.Index != x.index || failure.Code != x.code || failure.Status < 400 || failure.Message == ""):
			t.Errorf("%s: got failure %+v, want index %d, code %s, a status and a message", x.name, failure, x.index, x.code)
		}
	}
}

// TestManyETags: each of 100 operations has its own ETag, and a deletion has none.
func TestManyETags(t *testing.T) {
	t.Parallel()
	for n := range 101 {
		var parts []string
		want := []azcore.ETag{}
		for i := range n {
			if i%7 == 3 {
				parts, want = append(parts, deleted()), append(want, "")
				continue
			}
			parts, want = append(parts, updated(i*i*i)), append(want, tag(i*i*i))
		}
		got, failure, err := ParseBatchResponse([]byte(set(parts...)), n)
		if err != nil || failure != nil || !slices.Equal(got, want) {
			t.Errorf("%d operations: got %q, %v, %v; want %q", n, got, failure, err, want)
		}
	}
}

// parseLines is ParseBatchResponse without the short way for parts that are alike.
func parseLines(body []byte, n int) ([]azcore.ETag, *Failure, error) {
	p := batchParser{response: body, rest: body, etags: []azcore.ETag{}, ends: make([]int, 0, 1), lineByLine: true}
	return p.parse(n)
}

// alike fails the test unless a response is parsed alike in both ways.
func alike(t *testing.T, response string, n int) {
	t.Helper()
	etags, failure, err := ParseBatchResponse([]byte(response), n)
	etags2, failure2, err2 := parseLines([]byte(response), n)
	same := failure == failure2 || failure != nil && failure2 != nil && *failure == *failure2
	if !slices.Equal(etags, etags2) || !same || (err == nil) != (err2 == nil) {
		t.Fatalf("got %q, %+v, %v; line by line %q, %+v, %v; want the same, for the response %q", etags, failure, err, etags2, failure2, err2, response)
	}
}

// TestAlikeParts: parts that are alike but for their ETags, and parts that are nearly so, are parsed as line by line.
func TestAlikeParts(t *testing.T) {
	t.Parallel()
	twice := "ETag: " + string(tag(1))
	for name, parts := range map[string][]string{
		"updates":       {updated(1), updated(2), updated(345)},
		"echoes":        {echoed(1, ""), echoed(2, ""), echoed(2, "")},
		"inserts":       {inserted(1), inserted(2), inserted(3)},
		"spaces":        {part("204 No Content", "\r\n", "ETag:  a ", noCache), part("204 No Content", "\r\n", "ETag:  b  ", noCache), part("204 No Content", "\r\n", "ETag: c", noCache)},
		"ETags twice":   {part("204 No Content", "\r\n", twice, twice), part("204 No Content", "\r\n", twice, "ETag: b"), part("204 No Content", "\r\n", "ETag: b", twice)},
		"empty ETags":   {part("204 No Content", "\r\n", "ETag:", noCache), part("204 No Content", "\r\n", "ETag: a", noCache), part("204 No Content", "\r\n", "ETag: ", noCache)},
		"another first": {deleted(), updated(1), updated(2)},
		"a failure":     {updated(1), updated(2), refused("409 Conflict", "EntityAlreadyExists", "2:The specified entity already exists.")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, response := range []string{set(parts...), strings.ReplaceAll(set(parts...), "\r\n", "\n")} {
				for n := range 5 {
					alike(t, response, n)
				}
				for i := range response {
					alike(t, response[:i], 3)
					for _, c := range "\r\n :-4W" {
						alike(t, response[:i]+string(c)+response[i+1:], 3)
						alike(t, response[:i]+string(c)+response[i:], 3)
					}
				}
			}
		})
	}
}

// TestTruncatedResponses (T3): the outcome is unknown before the last byte of the closing boundary, unless a whole failed part has
// arrived. The test computes the expected outcome of each truncation from the whole text.
func TestTruncatedResponses(t *testing.T) {
	t.Parallel()
	for _, x := range exchanges() {
		certain := strings.LastIndex(x.response, "--"+batchGUID+"--") + len("--"+batchGUID+"--")
		if x.code != "" {
			certain = strings.LastIndex(x.response, "}}}") + len("}}}")
		}
		for cut := range len(x.response) + 1 {
			etags, failure, err := ParseBatchResponse([]byte(x.response[:cut]), x.n)
			switch {
			case cut < certain && err == nil:
				t.Fatalf("%s, first %d of %d bytes: got %q, %+v; want an error below %d bytes", x.name, cut, len(x.response), etags, failure, certain)
			case cut >= certain && err != nil:
				t.Fatalf("%s, first %d of %d bytes: got %v, want a known outcome from %d bytes on", x.name, cut, len(x.response), err, certain)
			case cut >= certain && (x.code == "") != (failure == nil), cut >= certain && failure != nil && (failure.Index != x.index || failure.Code != x.code):
				t.Fatalf("%s, first %d of %d bytes: got failure %+v, want index %d, code %q", x.name, cut, len(x.response), failure, x.index, x.code)
			}
		}
	}
}

// TestMalformedResponses: each of these responses leaves the outcome unknown.
func TestMalformedResponses(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]string{
		"empty":                        "",
		"JSON":                         `{"odata.error":{"code":"InternalError"}}`,
		"a page of a proxy":            "<html>\r\n<body>202</body>\r\n</html>\r\n",
		"too few parts":                set(inserted(1)),
		"too many parts":               set(inserted(1), inserted(2), inserted(3)),
		"no parts":                     set(),
		"a part with a redirect":       set(inserted(1), part("302 Found", "")),
		"a part without a status":      set(inserted(1), "HTTP/1.1\r\n\r\n"),
		"another protocol":             set(inserted(1), "SPDY 204\r\n\r\n"),
		"a header without a colon":     set(inserted(1), part("204 No Content", "", "nonsense")),
		"no change set":                "--x\r\nContent-Type: application/http\r\n\r\n" + inserted(1) + "\r\n--x--\r\n",
		"no boundary named":            "--x\r\nContent-Type: multipart/mixed\r\n\r\n--y--\r\n--x--\r\n",
		"another closing boundary":     strings.ReplaceAll(set(inserted(1), inserted(2)), "--"+batchGUID+"--", "--other--"),
		"an empty boundary":            strings.ReplaceAll(set(inserted(1), inserted(2)), batchGUID, ""),
		"rubbish between parts":        strings.Replace(set(inserted(1), inserted(2)), "--"+changeGUID+"\r\n", "rubbish\r\n--"+changeGUID+"\r\n", 1),
		"a failure without an outcome": strings.Split(set(part("500 Internal Server Error", "oops")), "oops")[0] + "oops",
	} {
		if etags, failure, err := ParseBatchResponse([]byte(response), 2); err == nil {
			t.Errorf("%s: got %q, %+v, want an error", name, etags, failure)
		}
	}
	alone := "--" + batchGUID + "\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 200 OK\r\nDataServiceVersion: 3.0;\r\n\r\n{\"PartitionKey\":\"partition1\"}\r\n--" + batchGUID + "--\r\n"
	if etags, failure, err := ParseBatchResponse([]byte(alone), 1); err == nil {
		t.Errorf("the response to a GET: got %q, %+v, want an error", etags, failure)
	}
	short := strings.ReplaceAll(set(inserted(1), inserted(2)), batchGUID, "b")
	if etags, failure, err := ParseBatchResponse([]byte(short), 2); err != nil || failure != nil || len(etags) != 2 {
		t.Errorf("a boundary of one character: got %q, %+v, %v; want 2 ETags", etags, failure, err)
	}
	if etags, failure, err := ParseBatchResponse([]byte(set()), 0); err != nil || failure != nil || len(etags) != 0 {
		t.Errorf("an empty change set: got %q, %+v, %v, want no ETag and no error", etags, failure, err)
	}
	if _, f, err := ParseBatchResponse([]byte(set(part("500 Internal Server Error", "oops"))), 2); err != nil || f.Status != 500 || f.Index != 0 || f.Code != "" {
		t.Errorf("a failure without JSON: got %+v, %v, want index 0 and status 500", f, err)
	}
}

// FuzzResponse: the parser never panics. A success has one ETag for each operation, "" included, and a closing boundary, and no
// truncation of it is a success.
func FuzzResponse(f *testing.F) {
	for _, x := range exchanges() {
		f.Add(x.response, x.n-1)
		f.Add(x.response[:len(x.response)/2], x.n-1)
	}
	f.Fuzz(func(t *testing.T, response string, n int) {
		n = 1 + n&127
		alike(t, response, n)
		etags, failure, err := ParseBatchResponse([]byte(response), n)
		switch {
		case err != nil:
			if etags != nil || failure != nil {
				t.Fatal("got an error and a result, want only one of them")
			}
		case failure != nil:
			if etags != nil || failure.Status < 400 || failure.Index < -1 || failure.Index >= n {
				t.Fatalf("got %q, %+v, want no ETag, a status of 400 or more and an index below %d", etags, failure, n)
			}
		default:
			open, _, _ := strings.Cut(response, "\n")
			end := strings.LastIndex(response, strings.TrimSuffix(open, "\r")+"--")
			if len(etags) != n || end <= 0 {
				t.Fatalf("got %d ETags, closing boundary at %d, want %d ETags and a boundary", len(etags), end, n)
			}
			if _, _, err := ParseBatchResponse([]byte(response[:end]), n); err == nil {
				t.Fatal("a truncated response is a success")
			}
		}
	})
}
