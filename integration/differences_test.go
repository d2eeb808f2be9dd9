package integration

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// difference is something in which Azurite answers otherwise than the live service, which storagetest follows. The number
// is that of the observation in recordings of the live service (L) or of Azurite (Z).
type difference struct {
	number, what string
	ask          func(*plain) string
	live         string // and storagetest
	azurite      string
}

// differences is the table of all that are known of the Table service.
var differences = []difference{
	{"L29", "a whole double without annotation", func(p *plain) string { return p.kept(`"V":3.0`) }, `"V":3.0`, `"V":3`},
	{"L30", "the exponent of a double", func(p *plain) string { return p.kept(`"V":1.5e300`) }, `"V":1.5E+300`, `"V":1.5e+300`},
	{"L33", "zeros behind a time", func(p *plain) string {
		return p.kept(`"V@odata.type":"Edm.DateTime","V":"2020-01-01T00:00:00.0000000Z"`)
	}, `"V@odata.type":"Edm.DateTime","V":"2020-01-01T00:00:00Z"`, `"V@odata.type":"Edm.DateTime","V":"2020-01-01T00:00:00.0000000Z"`},
	{"L25", "characters beyond ASCII", func(p *plain) string { return p.kept(`"V":"é"`) }, `"V":"\u00e9"`, `"V":"é"`},
	{"L35", "the order of properties after an update", func(p *plain) string {
		p.insert("r", `"b":1`)
		p.send("PATCH", p.row("r"), `{"a":2}`)
		return p.stored("r")
	}, `"a":2,"b":1`, `"b":1,"a":2`},
	{"L34", "$select of a property that is not there", func(p *plain) string {
		p.insert("r", `"a":1`)
		_, body := p.send("GET", p.row("r")+"?$select=a,b", "")
		return between(body, `"a":`, "}")
	}, `1,"b":null`, `1`},
	{"L38", "Prefer left out", func(p *plain) string {
		head, _ := p.send("POST", "/"+p.table, `{"PartitionKey":"p","RowKey":"r"}`)
		return head.Get("Preference-Applied")
	}, "", "return-content"},
	{"L39", "the error code in the head", func(p *plain) string {
		head, _ := p.send("GET", p.row("none"), "")
		return head.Get("x-ms-error-code")
	}, "", "ResourceNotFound"},
	{"L20", "a quote that is not doubled in an address", func(p *plain) string { return p.failed("GET", p.row("O'Brien"), "") }, "400 InvalidInput", "404 ResourceNotFound"},
	{"L39", "a table's name that cannot be", func(p *plain) string { return p.failed("POST", "/Tables", `{"TableName":"my_table"}`) }, "400 InvalidResourceName", "400 "},
	{"R2", "a property's name that cannot be", func(p *plain) string { return p.failedInsert(`"123":1`) }, "400 PropertyNameInvalid", "done"},
	{"L36", "an Int64 beyond 64 bits", func(p *plain) string {
		return p.failedInsert(`"V@odata.type":"Edm.Int64","V":"9223372036854775808"`)
	}, "400 InvalidInput", "done"},
	{"Z2", "a time before 1601", func(p *plain) string {
		return p.failedInsert(`"V@odata.type":"Edm.DateTime","V":"1600-01-01T00:00:00Z"`)
	}, "400 OutOfRangeInput", "done"},
	{"Z2", "253 properties", func(p *plain) string { return p.failedInsert(many(253, "1")) }, "400 TooManyProperties", "done"},
	{"Z2", "an entity over 1 MiB", func(p *plain) string { return p.failedInsert(many(17, `"`+strings.Repeat("x", 32000)+`"`)) }, "400 EntityTooLarge", "done"},
	{"Z2", "16 comparisons", func(p *plain) string {
		return p.failed("GET", "/"+p.table+"()?$filter="+url.QueryEscape(strings.Repeat("a eq 1 or ", 15)+"a eq 1"), "")
	}, "400 InvalidInput", "done"},
	{"Z4", "an Int64 literal and an Int32 property", func(p *plain) string {
		p.insert("r", `"a":5`)
		return p.failed("GET", "/"+p.table+"()?$filter=a+eq+5L", "")
	}, "done", "500 "},
	{"Z4", "null as a literal", func(p *plain) string { return p.failed("GET", "/"+p.table+"()?$filter=a+eq+null", "") }, "501 NotImplemented", "done"},
	{"Z2", "a table's name right after its deletion", func(p *plain) string {
		p.send("DELETE", "/Tables('"+p.table+"')", "")
		return p.failed("POST", "/Tables", `{"TableName":"`+p.table+`"}`)
	}, "409 TableBeingDeleted", "done"},
	{"L7", "the index of a failing first operation", func(p *plain) string {
		p.insert("r", "")
		return p.batch(p.post("p", "r"))
	}, "EntityAlreadyExists The specified entity already exists.", "EntityAlreadyExists 0:The specified entity already exists."},
	{"L8", "a row twice in a transaction", func(p *plain) string { return p.batch(p.post("p", "a"), p.post("p", "a")) },
		"InvalidDuplicateRow 1:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.", "InvalidDuplicateRow 1:A command with RowKey 'a' is already present in the batch. An entity can appear only once in a batch. "},
	{"L9", "two partitions in a transaction", func(p *plain) string { return p.batch(p.post("p", "a"), p.post("q", "a")) },
		"CommandsInBatchActOnDifferentPartitions 1:All commands in a batch must operate on same entity group.", "done"},
	{"L10", "101 operations", func(p *plain) string {
		var ops []string
		for i := range 101 {
			ops = append(ops, p.post("p", fmt.Sprint(i)))
		}
		return p.batch(ops...)
	}, "InvalidInput 99:The batch request operation exceeds the maximum 100 changes per change set.", "InvalidInput 0:The batch request operation exceeds the maximum 100 changes per change set."},
	{"L13", "a transaction of nothing", func(p *plain) string { return p.batch() }, "done", "500 "},
	{"L5", "a Content-ID that was not sent", func(p *plain) string {
		p.insert("a", "")
		_, body := p.transact(p.post("p", "a"))
		return fmt.Sprint(strings.Contains(body, "Content-ID"))
	}, "false", "true"},
	{"Z2", "a signature's range", func(p *plain) string {
		p.insert("r", "")
		return p.signed("GET", p.row("r"), "r", "a", "b")
	}, "404 ResourceNotFound", "done"},
}

// TestDifferences: each is as it is said, on both services. One that has gone should go from the table too.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, b := range backends {
		for _, d := range slices.Concat(differences, queueDifferences) {
			t.Run(b.Name()+"/"+d.number+" "+d.what, func(t *testing.T) {
				t.Parallel()
				want := d.live
				if b.Name() == "azurite" {
					want = d.azurite
				}
				if got := d.ask(newPlain(t, b)); got != want {
					t.Errorf("%s: %q, want %q", d.what, got, want)
				}
			})
		}
	}
}

// TestDifferencesAreListed: docs/storagetest.md lists them, and no others.
func TestDifferencesAreListed(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/storagetest.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "## Differences from Azurite\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var listed, are []string
	for line := range strings.Lines(text) {
		if what, ok := strings.CutPrefix(line, "- "); ok {
			listed = append(listed, strings.TrimSpace(what))
		}
	}
	for _, d := range slices.Concat(differences, queueDifferences) {
		are = append(are, d.what)
	}
	if !slices.Equal(listed, are) {
		t.Errorf("got %q\nwant %q", listed, are)
	}
}

// plain is a client that knows nothing but the protocol.
type plain struct {
	*testing.T
	endpoint, queues, account, key, table string
}

func newPlain(t *testing.T, b backend) *plain {
	p := &plain{T: t}
	for field := range strings.SplitSeq(b.ConnectionString(), ";") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "TableEndpoint":
			p.endpoint = strings.TrimSuffix(value, "/")
		case "QueueEndpoint":
			p.queues = strings.TrimSuffix(value, "/")
		case "AccountName":
			p.account = value
		case "AccountKey":
			p.key = value
		}
	}
	p.table = (&env{T: t}).fresh()
	if got := p.failed("POST", "/Tables", `{"TableName":"`+p.table+`"}`); got != "done" {
		t.Fatal(got)
	}
	return p
}

// sign is a signature with the account's key.
func (p *plain) sign(text string) string {
	key, _ := base64.StdEncoding.DecodeString(p.key)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// send sends a request and returns the answer's head, with its status, and its body.
func (p *plain) send(method, path, body string, header ...string) (http.Header, string) {
	p.Helper()
	req, err := http.NewRequest(method, p.endpoint+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	date := time.Now().UTC().Format(http.TimeFormat)
	for name, value := range map[string]string{"Accept": "application/json;odata=minimalmetadata", "Content-Type": "application/json", "DataServiceVersion": "3.0", "x-ms-version": "2019-02-02", "x-ms-date": date} {
		req.Header.Set(name, value)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if !req.URL.Query().Has("sig") {
		req.Header.Set("Authorization", "SharedKeyLite "+p.account+":"+p.sign(date+"\n/"+p.account+req.URL.EscapedPath()))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	resp.Header.Set("Status", fmt.Sprint(resp.StatusCode))
	return resp.Header, string(b)
}

var errorCode = regexp.MustCompile(`"code":"([A-Za-z]*)"`)

// failed is how a request failed, or "done".
func (p *plain) failed(method, path, body string) string {
	p.Helper()
	head, body := p.send(method, path, body)
	return verdict(head, body)
}

func verdict(head http.Header, body string) string {
	if head.Get("Status") < "400" {
		return "done"
	}
	code := errorCode.FindStringSubmatch(body)
	if code == nil {
		code = []string{"", ""}
	}
	return head.Get("Status") + " " + code[1]
}

func (p *plain) row(row string) string {
	return "/" + p.table + "(PartitionKey='p',RowKey='" + row + "')"
}

func (p *plain) failedInsert(properties string) string {
	p.Helper()
	return p.failed("POST", "/"+p.table, `{"PartitionKey":"p","RowKey":"r",`+properties+`}`)
}

func (p *plain) insert(row, properties string) {
	p.Helper()
	if properties != "" {
		properties = "," + properties
	}
	if got := p.failed("POST", "/"+p.table, `{"PartitionKey":"p","RowKey":"`+row+`"`+properties+`}`); got != "done" {
		p.Fatal(got)
	}
}

// kept is what becomes of properties that are inserted.
func (p *plain) kept(properties string) string {
	p.Helper()
	p.insert("r", properties)
	return p.stored("r")
}

var stamped = regexp.MustCompile(`,?"Timestamp(@odata.type)?":"[^"]*"`)

// stored is a row's own properties.
func (p *plain) stored(row string) string {
	p.Helper()
	_, body := p.send("GET", p.row(row), "")
	return strings.TrimPrefix(between(stamped.ReplaceAllString(body, ""), `"RowKey":"r"`, "}"), ",")
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	return strings.TrimSuffix(s, to)
}

func many(n int, value string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"p%03d":%s`, i, value))
	}
	return strings.Join(all, ",")
}

// post is an insert in a transaction.
func (p *plain) post(partition, row string) string {
	return "POST " + p.endpoint + "/" + p.table + " HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=minimalmetadata\r\nPrefer: return-no-content\r\nDataServiceVersion: 3.0\r\n\r\n" + `{"PartitionKey":"` + partition + `","RowKey":"` + row + `"}`
}

func (p *plain) transact(ops ...string) (http.Header, string) {
	p.Helper()
	body := "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_2\r\n\r\n"
	for _, op := range ops {
		body += "--changeset_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + op + "\r\n"
	}
	return p.send("POST", "/$batch", body+"--changeset_2--\r\n--batch_1--\r\n", "Content-Type", "multipart/mixed; boundary=batch_1")
}

var refusal = regexp.MustCompile(`"code":"([A-Za-z]+)","message":\{"lang":"en-US","value":"(.*?)\\n`)

// batch is how a transaction ended.
func (p *plain) batch(ops ...string) string {
	p.Helper()
	head, body := p.transact(ops...)
	if got := verdict(head, body); got != "done" {
		return got
	}
	switch failed := refusal.FindStringSubmatch(body); {
	case failed != nil:
		return failed[1] + " " + failed[2]
	case strings.Count(body, "HTTP/1.1 204") != len(ops):
		return "malformed"
	}
	return "done"
}

// signed is how a request ends that carries a signature for the rows of partition p from one to another.
func (p *plain) signed(method, path, permissions, from, to string) string {
	p.Helper()
	q := url.Values{"sp": {permissions}, "se": {"2099-01-01T00:00:00Z"}, "sv": {"2019-02-02"}, "tn": {p.table}, "spk": {"p"}, "epk": {"p"}, "srk": {from}, "erk": {to}}
	said := []string{q.Get("sp"), "", q.Get("se"), "/table/" + p.account + "/" + p.table, "", "", "", q.Get("sv"), "p", from, "p", to}
	q.Set("sig", p.sign(strings.Join(said, "\n")))
	head, body := p.send(method, path+"?"+q.Encode(), "")
	return verdict(head, body)
}
