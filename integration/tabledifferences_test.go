package integration

import (
	"fmt"
	"net/url"
	"strings"
)

// difference is a matter in which Azurite answers otherwise than the live service, which storagetest follows. The number is that of
// the observation in recordings of the live service (L) or of Azurite (Z).
type difference struct {
	number, name string
	ask          func(*rawClient) string
	live         string // of storagetest, too
	azurite      string
}

// tableDifferences are the known differences of the Table service.
var tableDifferences = []difference{
	{"L29", "a whole double without annotation", func(p *rawClient) string { return p.storedAfterInsert(`"V":3.0`) }, `"V":3.0`, `"V":3`},
	{"L30", "the exponent of a double", func(p *rawClient) string { return p.storedAfterInsert(`"V":1.5e300`) }, `"V":1.5E+300`, `"V":1.5e+300`},
	{"L33", "zeros at the end of a time", func(p *rawClient) string {
		return p.storedAfterInsert(`"V@odata.type":"Edm.DateTime","V":"2020-01-01T00:00:00.0000000Z"`)
	}, `"V@odata.type":"Edm.DateTime","V":"2020-01-01T00:00:00Z"`, `"V@odata.type":"Edm.DateTime","V":"2020-01-01T00:00:00.0000000Z"`},
	{"L25", "characters beyond ASCII", func(p *rawClient) string { return p.storedAfterInsert(`"V":"é"`) }, `"V":"\u00e9"`, `"V":"é"`},
	{"L35", "the order of properties after an update", func(p *rawClient) string {
		p.insert("r", `"b":1`)
		p.send("PATCH", p.row("r"), `{"a":2}`)
		return p.storedProperties("r")
	}, `"a":2,"b":1`, `"b":1,"a":2`},
	{"L34", "$select of a missing property", func(p *rawClient) string {
		p.insert("r", `"a":1`)
		_, body := p.send("GET", p.row("r")+"?$select=a,b", "")
		return textBetween(body, `"a":`, "}")
	}, `1,"b":null`, `1`},
	{"L38", "an insert without Prefer", func(p *rawClient) string {
		head, _ := p.send("POST", "/"+p.table, `{"PartitionKey":"p","RowKey":"r"}`)
		return head.Get("Preference-Applied")
	}, "", "return-content"},
	{"L39", "the error code in a header", func(p *rawClient) string {
		head, _ := p.send("GET", p.row("none"), "")
		return head.Get("x-ms-error-code")
	}, "", "ResourceNotFound"},
	{"L20", "a quote that is not doubled in a URL", func(p *rawClient) string { return p.result("GET", p.row("O'Brien"), "") }, "400 InvalidInput", "404 ResourceNotFound"},
	{"L39", "an invalid table name", func(p *rawClient) string { return p.result("POST", "/Tables", `{"TableName":"my_table"}`) }, "400 InvalidResourceName", "400 "},
	{"R2", "an invalid property name", func(p *rawClient) string { return p.insertResult(`"123":1`) }, "400 PropertyNameInvalid", "done"},
	{"L36", "an Int64 beyond 64 bits", func(p *rawClient) string {
		return p.insertResult(`"V@odata.type":"Edm.Int64","V":"9223372036854775808"`)
	}, "400 InvalidInput", "done"},
	{"Z2", "a time before 1601", func(p *rawClient) string {
		return p.insertResult(`"V@odata.type":"Edm.DateTime","V":"1600-01-01T00:00:00Z"`)
	}, "400 OutOfRangeInput", "done"},
	{"Z2", "253 properties", func(p *rawClient) string { return p.insertResult(manyProperties(253, "1")) }, "400 TooManyProperties", "done"},
	{"Z2", "an entity over 1 MiB", func(p *rawClient) string {
		return p.insertResult(manyProperties(17, `"`+strings.Repeat("x", 32000)+`"`))
	}, "400 EntityTooLarge", "done"},
	{"Z2", "16 comparisons", func(p *rawClient) string {
		return p.result("GET", "/"+p.table+"()?$filter="+url.QueryEscape(strings.Repeat("a eq 1 or ", 15)+"a eq 1"), "")
	}, "400 InvalidInput", "done"},
	{"Z4", "an Int64 literal and an Int32 property", func(p *rawClient) string {
		p.insert("r", `"a":5`)
		return p.result("GET", "/"+p.table+"()?$filter=a+eq+5L", "")
	}, "done", "500 "},
	{"Z4", "a comparison with null", func(p *rawClient) string { return p.result("GET", "/"+p.table+"()?$filter=a+eq+null", "") }, "501 NotImplemented", "done"},
	{"Z2", "a table that is created right after its deletion", func(p *rawClient) string {
		p.send("DELETE", "/Tables('"+p.table+"')", "")
		return p.result("POST", "/Tables", `{"TableName":"`+p.table+`"}`)
	}, "409 TableBeingDeleted", "done"},
	{"L7", "the index of a failing first operation", func(p *rawClient) string {
		p.insert("r", "")
		return p.transactResult(p.post("p", "r"))
	}, "EntityAlreadyExists The specified entity already exists.", "EntityAlreadyExists 0:The specified entity already exists."},
	{"L8", "a row twice in a transaction", func(p *rawClient) string { return p.transactResult(p.post("p", "a"), p.post("p", "a")) },
		"InvalidDuplicateRow 1:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.", "InvalidDuplicateRow 1:A command with RowKey 'a' is already present in the batch. An entity can appear only once in a batch. "},
	{"L9", "two partitions in a transaction", func(p *rawClient) string { return p.transactResult(p.post("p", "a"), p.post("q", "a")) },
		"CommandsInBatchActOnDifferentPartitions 1:All commands in a batch must operate on same entity group.", "done"},
	{"L10", "101 operations", func(p *rawClient) string {
		var ops []string
		for i := range 101 {
			ops = append(ops, p.post("p", fmt.Sprint(i)))
		}
		return p.transactResult(ops...)
	}, "InvalidInput 99:The batch request operation exceeds the maximum 100 changes per change set.", "InvalidInput 0:The batch request operation exceeds the maximum 100 changes per change set."},
	{"L13", "an empty transaction", func(p *rawClient) string { return p.transactResult() }, "done", "500 "},
	{"L5", "a Content-ID that was not sent", func(p *rawClient) string {
		p.insert("a", "")
		_, body := p.transact(p.post("p", "a"))
		return fmt.Sprint(strings.Contains(body, "Content-ID"))
	}, "false", "true"},
	{"Z2", "the range of a signature", func(p *rawClient) string {
		p.insert("r", "")
		return p.signedResult("GET", p.row("r"), "r", "a", "b")
	}, "404 ResourceNotFound", "done"},
}
