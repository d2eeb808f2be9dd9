package integration

import (
	"fmt"
	"strings"
)

// queueDifferences are the known differences of the Queue service. The number Q stands for its documentation, and for recordings
// without an observation of their own.
var queueDifferences = []difference{
	{"L64", "the byte order mark before XML", func(p *rawClient) string {
		q := p.queue()
		_, body := q.send("GET", q.messages(), "")
		return fmt.Sprint(strings.HasPrefix(body, "\ufeff"))
	}, "true", "false"},
	{"L64", "Cache-Control of received messages", func(p *rawClient) string {
		q := p.queue()
		head, _ := q.send("GET", q.messages(), "")
		return head.Get("Cache-Control")
	}, "no-cache", ""},
	{"L66", "a control character in a message", func(p *rawClient) string { return p.queue().putResult("", messageXML("a\x01")) }, "400 InvalidXmlDocument", "done"},
	{"Q", "a message that is not UTF-8", func(p *rawClient) string { return p.queue().putResult("", messageXML("\xff")) }, "400 InvalidXmlDocument", "done"},
	{"Q", "two messages in a body", func(p *rawClient) string { return p.queue().putResult("", messageXML("a")+messageXML("b")) }, "400 InvalidXmlDocument", "done"},
	{"Q", "a body that is not XML", func(p *rawClient) string { return p.queue().putResult("", "plain") }, "400 InvalidXmlDocument", "400 "},
	{"Q", "a message without a text", func(p *rawClient) string { return p.queue().putResult("", "<QueueMessage/>") }, "400 MissingRequiredXmlNode", "400 InvalidXmlDocument"},
	{"Q", "a message that is hidden until it expires", func(p *rawClient) string {
		return p.queue().putResult("?visibilitytimeout=604800", messageXML("a"))
	}, "400 InvalidQueryParameterValue", "done"},
	{"Q", "a message without expiry, in versions before 2017-07-29", func(p *rawClient) string {
		q := p.queue()
		return q.result("POST", q.messages()+"?messagettl=-1", messageXML("a"), "x-ms-version", "2015-04-05")
	}, "400 OutOfRangeQueryParameterValue", "done"},
	{"Q", "a negative lifetime of a message", func(p *rawClient) string {
		return p.queue().putResult("?messagettl=-2", messageXML("a"))
	}, "400 InvalidQueryParameterValue", "400 "},
	{"Q", "an outdated receipt", func(p *rawClient) string {
		q := p.queue()
		old := q.put("a")
		q.get()
		return q.result("DELETE", old, "")
	}, "404 MessageNotFound", "400 PopReceiptMismatch"},
	{"Q", "an invalid receipt", func(p *rawClient) string {
		q := p.queue()
		message, _, _ := strings.Cut(q.put("a"), "?")
		return q.result("DELETE", message+"?popreceipt=invalid", "")
	}, "400 InvalidQueryParameterValue", "400 PopReceiptMismatch"},
	{"L65", "the length of an update's receipt", func(p *rawClient) string {
		q := p.queue()
		head, _ := q.send("PUT", q.put("a")+"&visibilitytimeout=0", "")
		return fmt.Sprint(len(head.Get("x-ms-popreceipt")))
	}, "32", "28"},
	{"Q", "an update without visibilitytimeout", func(p *rawClient) string {
		q := p.queue()
		return q.result("PUT", q.put("a"), messageXML("b"))
	}, "400 MissingRequiredQueryParameter", "400 "},
	{"Q", "a delete without a receipt", func(p *rawClient) string {
		q := p.queue()
		message, _, _ := strings.Cut(q.put("a"), "?")
		return q.result("DELETE", message, "")
	}, "400 MissingRequiredQueryParameter", "400 "},
	{"Q", "a receive of 0 messages", func(p *rawClient) string {
		q := p.queue()
		return q.result("GET", q.messages()+"?numofmessages=0", "")
	}, "400 OutOfRangeQueryParameterValue", "400 "},
	{"L67", "a queue that is created right after its deletion", func(p *rawClient) string {
		q := p.queue()
		q.result("DELETE", "/"+q.name, "")
		return q.result("PUT", "/"+q.name, "")
	}, "409 QueueBeingDeleted", "done"},
	{"Q", "the error text for an invalid queue name", func(p *rawClient) string {
		_, body := p.queue().send("PUT", "/My-Queue", "")
		text, _, _ := strings.Cut(xmlPart(body, "Message"), "\n")
		return text
	}, "The specifed resource name contains invalid characters.", "The specified resource name contains invalid characters."},
	{"Q", "the case of a name in metadata", func(p *rawClient) string {
		q := p.queue()
		q.send("PUT", "/"+q.name+"?comp=metadata", "", "x-ms-meta-Key", "1")
		_, body := q.send("GET", "/?comp=list&include=metadata&prefix="+q.name, "")
		return xmlPart(body, "Metadata")
	}, "<key>1</key>", "<Key>1</Key>"},
	{"Q", "an invalid name in metadata", func(p *rawClient) string {
		q := p.queue()
		return q.result("PUT", "/"+q.name+"?comp=metadata", "", "x-ms-meta-1", "1")
	}, "400 InvalidMetadata", "done"},
	{"Q", "a list of queues without maxresults", func(p *rawClient) string {
		q := p.queue()
		_, body := q.send("GET", "/?comp=list&prefix="+q.name, "")
		return xmlPart(body, "MaxResults")
	}, "", "5000"},
	{"Q", "a page of 0 queues", func(p *rawClient) string { return p.queue().result("GET", "/?comp=list&maxresults=0", "") }, "400 OutOfRangeQueryParameterValue", "400 "},
	{"Q", "an invalid marker", func(p *rawClient) string { return p.queue().result("GET", "/?comp=list&marker=x", "") }, "400 InvalidMarker", "done"},
	{"Q", "the marker of the next page of queues", func(p *rawClient) string {
		q := p.queue()
		q.send("PUT", "/"+q.name+"x", "")
		_, body := q.send("GET", "/?comp=list&maxresults=1&prefix="+q.name, "")
		return fmt.Sprint(xmlPart(body, "NextMarker") == "/"+q.account+"/"+q.name+"x")
	}, "true", "false"},
	{"Q", "an unknown URL below a queue", func(p *rawClient) string {
		q := p.queue()
		return q.result("GET", "/"+q.name+"/other", "")
	}, "400 InvalidUri", "done"},
	{"Q", "an unsupported HTTP method for messages", func(p *rawClient) string {
		q := p.queue()
		return q.result("PATCH", q.messages(), "")
	}, "405 UnsupportedHttpVerb", "400 "},
}
