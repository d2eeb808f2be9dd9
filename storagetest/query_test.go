package storagetest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// found returns the RowKeys of the rows that a filter matches.
func (r *tableClient) found(filter string) string {
	r.Helper()
	a := r.send("GET", "/staff()?$select=RowKey&$filter="+url.QueryEscape(filter), "", "Accept", "application/json;odata=nometadata")
	if a.status != 200 {
		r.Errorf("filter %s: got %d %s; want 200", filter, a.status, a.body)
		return ""
	}
	return strings.NewReplacer(`{"value":[`, "", `]}`, "", `{"RowKey":"`, "", `"}`, "", ",", " ").Replace(a.body)
}

// TestFilters: each operator matches each type as in the live service.
func TestFilters(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	r.insert("1", `"S":"apple","I":123,"L@odata.type":"Edm.Int64","L":"4294967296","D":123.45,"B":false,"T@odata.type":"Edm.DateTime","T":"2012-11-10T03:04:05.2Z","G@odata.type":"Edm.Guid","G":"debc44d5-04a9-42ea-ab2f-4e2cb49ff833","X@odata.type":"Edm.Binary","X":"AQIy"`)
	r.insert("2", `"S":"O'Brien","I":-5,"L@odata.type":"Edm.Int64","L":"-1","D":5.0,"B":true,"T@odata.type":"Edm.DateTime","T":"2012-11-10T03:04:05.2000001Z","G@odata.type":"Edm.Guid","G":"00000000-04a9-42ea-ab2f-4e2cb49ff833","X@odata.type":"Edm.Binary","X":"AQ=="`)
	r.insert("3", `"S":5`)
	for filter, want := range map[string]string{
		"": "1 2 3", "   ": "1 2 3", "S eq 'apple'": "1", "S eq 'O''Brien'": "2", "S ne 'apple'": "2", "S gt 'a'": "1", "S lt 'a'": "2", "S ge 'apple' and S le 'apple'": "1", "'apple' eq S": "1", "'b' gt S": "1 2",
		"I eq 123": "1", "I eq 123L": "", "I lt 0": "2", "I ge -5": "1 2", "L eq 4294967296L": "1", "L gt 0": "1", "L eq 4294967296": "1", "L lt 4294967297": "1 2", "D lt 4294967296": "1 2", "D lt 4294967296L": "", "D eq 123.45": "1", "D eq 5": "2", "D eq 5.0": "2", "D lt 1e3": "1 2", "D gt INF": "",
		"B eq false": "1", "B": "2", "not B": "1 3", "B eq true or S eq 5": "2 3", "T eq datetime'2012-11-10T03:04:05.200Z'": "1", "T gt datetime'2012-11-10T03:04:05.2Z'": "2",
		"G eq guid'debc44d5-04a9-42ea-ab2f-4e2cb49ff833'": "1", "G eq guid'DEBC44D5-04a9-42ea-ab2f-4e2cb49ff833'": "1", "G lt guid'10000000-0000-0000-0000-000000000000'": "2", "X eq X'010232'": "1", "X eq binary'010232'": "1", "X lt X'0102'": "2",
		"PartitionKey eq 'p' and RowKey eq '2'": "2", "PartitionKey eq 'q'": "", "RowKey gt '1'": "2 3", "RowKey ge '1' and RowKey lt '3'": "1 2", "PartitionKey gt 'o' and PartitionKey lt 'q' and RowKey le '2'": "1 2", "(RowKey eq '1') or (RowKey eq '3')": "1 3", "not (RowKey eq '1')": "2 3",
		"not RowKey eq '1' and RowKey lt '3'": "2", "Timestamp ge datetime'2017-10-02T20:21:54.8228007Z'": "1 2 3", "Timestamp lt datetime'2017-10-02T00:00:00Z'": "", "Missing eq 1": "", "Missing ne 1": "", "not (Missing eq 1)": "1 2 3", "S eq guid'debc44d5-04a9-42ea-ab2f-4e2cb49ff833'": "",
		"S eq 'apple' or I eq -5 and B eq true": "1 2", "(S eq 'apple' or I eq -5) and B eq true": "2", "S eq ' or 1 eq 1'": "", "S  eq\t'apple'": "1",
	} {
		if got := r.found(filter); got != want {
			t.Errorf("filter %s: got %s; want %s", filter, got, want)
		}
	}
	for filter, position := range map[string]int{"aaa bbb ccc": 7, "S eq": 4, "S eq 'open": 5, "(S eq 'a'": 9, "S eq 'a')": 8, "S eq 'a' and": 12, "eq 'a'": 3, "S eq datetime'no'": 13, "S eq guid'no'": 9, "S eq X'0'": 6, "S eq 5x": 6, "S eq 99999999999999999999L": 5, "S eq --5": 5, "S = 'a'": 2, "S eq 'a' xor B": 9} {
		a := r.send("GET", "/staff()?$filter="+url.QueryEscape(filter), "")
		r.expectError(a, 400, "InvalidInput", fmt.Sprintf("Syntax error at position %d in '%s'.", position, filter))
		if got := a.header.Get("Cache-Control"); got != "" {
			t.Errorf("filter %s: got Cache-Control %q; want none with a syntax error", filter, got)
		}
	}
	for _, filter := range []string{"startswith(S,'a')", "S eq I", "1 eq 1", "I add 1 eq 2", "S eq null"} {
		if a := r.send("GET", "/staff()?$filter="+url.QueryEscape(filter), ""); a.status != 501 {
			t.Errorf("filter %s: got %d %s; want 501", filter, a.status, a.body)
		}
	}
	fifteen := strings.TrimSuffix(strings.Repeat("I eq 123 or ", 15), " or ")
	if got := r.found(fifteen); got != "1" {
		t.Errorf("15 comparisons: got %s; want 1", got)
	}
	r.expectError(r.send("GET", "/staff()?$filter="+url.QueryEscape(fifteen+" or I eq 1"), ""), 400, "InvalidInput", "One of the request inputs is not valid.")
	if a := r.send("GET", "/staff()?$filter="+url.QueryEscape(strings.Repeat("(", 5000)+"I eq 1"+strings.Repeat(")", 5000)), ""); a.status != 400 {
		t.Errorf("5000 parentheses: got %d; want 400", a.status)
	}
}

// TestProjections: a response contains the selected properties in the stored order, and null for a missing property.
func TestProjections(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	r.insert("r", `"age@odata.type":"Edm.Int64","age":"39","sex":"male","other":1`)
	const etag = `"odata.etag":"W/\"datetime'2017-10-02T20%3A21%3A54.8228007Z'\"",`
	r.expect(r.send("GET", "/staff(PartitionKey='p',RowKey='r')?$select=age,sex,xyz", ""), 200, `{"odata.metadata":"BASE/$metadata#staff/@Element&$select=age,sex,xyz",`+etag+`"age@odata.type":"Edm.Int64","age":"39","sex":"male","xyz":null}`)
	r.expect(r.send("GET", "/staff()?$select=RowKey,%20sex", ""), 200, `{"odata.metadata":"BASE/$metadata#staff&$select=RowKey,sex","value":[{`+etag+`"RowKey":"r","sex":"male"}]}`)
	r.expect(r.send("GET", "/staff?$select=Timestamp", "", "Accept", "application/json;odata=nometadata"), 200, `{"value":[{"Timestamp":"`+stamp+`"}]}`)
	r.expect(r.send("GET", "/staff?$select=&$filter=RowKey+eq+'x'", ""), 200, `{"odata.metadata":"BASE/$metadata#staff&$select=","value":[]}`)
}

// TestPages: a full page has the token of the next row, the last page has no token, and ShortPage shortens pages.
func TestPages(t *testing.T) {
	t.Parallel()
	r := newStaffClient(t)
	for i := range 21 {
		r.insert(fmt.Sprintf("rk%02d", i), `"odd":`+fmt.Sprint(i%2 == 1))
	}
	pages := func(query string) (sizes []int, tokens []string) {
		next := ""
		for range 30 {
			a := r.send("GET", "/staff()?"+query+next, "", "Accept", "application/json;odata=nometadata")
			sizes = append(sizes, strings.Count(a.body, "RowKey"))
			pk, rk := a.header.Get("x-ms-continuation-NextPartitionKey"), a.header.Get("x-ms-continuation-NextRowKey")
			if pk == "" && rk == "" {
				break
			}
			tokens = append(tokens, pk+" "+rk)
			next = "&NextPartitionKey=" + url.QueryEscape(pk) + "&NextRowKey=" + url.QueryEscape(rk)
		}
		return sizes, tokens
	}
	sizes, tokens := pages("$top=5")
	if fmt.Sprint(sizes) != "[5 5 5 5 1]" || tokens[0] != "1!4!cA-- 1!8!cmswNQ--" {
		t.Errorf("$top=5: got pages %v, tokens %q; want [5 5 5 5 1], starting with 1!4!cA-- 1!8!cmswNQ--", sizes, tokens)
	}
	if sizes, _ := pages("$top=7"); fmt.Sprint(sizes) != "[7 7 7]" {
		t.Errorf("$top=7: got pages %v; want [7 7 7]", sizes)
	}
	if sizes, _ := pages("$top=5&$filter=odd"); fmt.Sprint(sizes) != "[5 5]" {
		t.Errorf("$top=5 with a filter: got pages %v; want [5 5]", sizes)
	}
	r.SetFaults(func(q storagetest.Request) storagetest.Fault { return storagetest.ShortPage(q.Number % 3) })
	sizes, _ = pages("$filter=odd")
	total, empty := 0, false
	for _, n := range sizes {
		total, empty = total+n, empty || n == 0
	}
	if total != 10 || !empty {
		t.Errorf("ShortPage: got pages %v; want 10 rows and an empty page", sizes)
	}
	r.SetFaults(nil)
	// Without $top a page has 1000 rows.
	for i := range 1000 {
		r.insert(fmt.Sprintf("s%04d", i), "")
	}
	if sizes, _ := pages(""); fmt.Sprint(sizes) != "[1000 21]" {
		t.Errorf("without $top: got pages %v; want [1000 21]", sizes)
	}
	// The order of rows is the order of UTF-16 code units.
	for _, pk := range []string{"10", "9", "\U0001F600", "\uFFFD", "Z", "a"} {
		r.send("POST", "/staff", `{"PartitionKey":"`+pk+`","RowKey":"order"}`)
	}
	a := r.send("GET", "/staff()?$select=PartitionKey&$filter="+url.QueryEscape("RowKey eq 'order'"), "", "Accept", "application/json;odata=nometadata")
	r.expect(a, 200, `{"value":[{"PartitionKey":"10"},{"PartitionKey":"9"},{"PartitionKey":"Z"},{"PartitionKey":"a"},{"PartitionKey":"\ud83d\ude00"},{"PartitionKey":"\ufffd"}]}`)
	// A token without a RowKey denotes the start of a partition.
	a = r.send("GET", "/staff()?$select=PartitionKey&$filter="+url.QueryEscape("RowKey eq 'order'")+"&NextPartitionKey=1!4!Wg--", "", "Accept", "application/json;odata=nometadata")
	if strings.Count(a.body, "PartitionKey") != 4 {
		t.Errorf("got %s; want the four rows from Z on", a.body)
	}
}
