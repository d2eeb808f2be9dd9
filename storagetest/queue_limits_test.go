package storagetest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

const (
	outOfRange = "One of the query parameters specified in the request URI is outside the permissible range."
	badValue   = "Value for one of the query parameters specified in the request URI is invalid."
)

// TestQueueLimits: a request over a limit fails and changes nothing.
func TestQueueLimits(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	id, receipt := r.put("a", "")
	before := fmt.Sprint(r.QueueNames(), r.Messages("hints"))
	own := "/hints/messages/" + id + "?popreceipt=" + url.QueryEscape(receipt)
	parameter := func(name, value, more string) string {
		return "<QueryParameterName>" + name + "</QueryParameterName><QueryParameterValue>" + value + "</QueryParameterValue>" + more
	}
	between := func(name, value, least, most string) string {
		return parameter(name, value, "<MinimumAllowed>"+least+"</MinimumAllowed><MaximumAllowed>"+most+"</MaximumAllowed>")
	}
	const (
		badXML  = "XML specified is not syntactically valid."
		needs   = "A query parameter that's mandatory for this request is not specified."
		longer  = "<Reason>messagettl must be greater than visibilitytimeout</Reason>"
		ttl     = "<Reason>Value must be greater than or equal to 1, or -1 to indicate an infinite TTL.</Reason>"
		tooBig  = "The request body is too large and exceeds the maximum permissible limit."
		badName = "The specifed resource name contains invalid characters."
		length  = "The specified resource name length is not within the permissible limits."
		noQueue = "The specified queue does not exist."
		noURI   = "The requested URI does not represent any resource on the server."
	)
	at := func(position int) string {
		return fmt.Sprintf("<LineNumber>1</LineNumber><LinePosition>%d</LinePosition><Reason>Error parsing Xml content</Reason>", position)
	}
	for _, c := range []struct {
		request, body string
		status        int
		code, detail  string
		text          string
	}{
		{"GET /hints/messages?numofmessages=0", "", 400, "OutOfRangeQueryParameterValue", between("numofmessages", "0", "1", "32"), outOfRange},
		{"GET /hints/messages?numofmessages=33", "", 400, "OutOfRangeQueryParameterValue", between("numofmessages", "33", "1", "32"), outOfRange},
		{"GET /hints/messages?peekonly=true&numofmessages=100", "", 400, "OutOfRangeQueryParameterValue", between("numofmessages", "100", "1", "32"), outOfRange},
		{"GET /hints/messages?numofmessages=x", "", 400, "InvalidQueryParameterValue", parameter("numofmessages", "x", "<Reason>Invalid value</Reason>"), badValue},
		{"GET /hints/messages?visibilitytimeout=0", "", 400, "OutOfRangeQueryParameterValue", between("visibilitytimeout", "0", "1", "604800"), outOfRange},
		{"GET /hints/messages?visibilitytimeout=604801", "", 400, "OutOfRangeQueryParameterValue", between("visibilitytimeout", "604801", "1", "604800"), outOfRange},
		{"POST /hints/messages?visibilitytimeout=604801", text("b"), 400, "OutOfRangeQueryParameterValue", between("visibilitytimeout", "604801", "0", "604800"), outOfRange},
		{"POST /hints/messages?visibilitytimeout=-1", text("b"), 400, "OutOfRangeQueryParameterValue", between("visibilitytimeout", "-1", "0", "604800"), outOfRange},
		{"POST /hints/messages?visibilitytimeout=30&messagettl=30", text("b"), 400, "InvalidQueryParameterValue", parameter("visibilitytimeout", "30", longer), badValue},
		{"POST /hints/messages?visibilitytimeout=604800", text("b"), 400, "InvalidQueryParameterValue", parameter("visibilitytimeout", "604800", longer), badValue},
		{"POST /hints/messages?messagettl=0", text("b"), 400, "InvalidQueryParameterValue", parameter("messagettl", "0", ttl), badValue},
		{"POST /hints/messages?messagettl=-2", text("b"), 400, "InvalidQueryParameterValue", parameter("messagettl", "-2", ttl), badValue},
		{"POST /hints/messages", text(strings.Repeat("é", 32769)), 413, "RequestBodyTooLarge", "<MaxLimit>65536</MaxLimit>", tooBig},
		{"POST /hints/messages", text("a\x01b"), 400, "InvalidXmlDocument", at(31), badXML},
		{"POST /hints/messages", text("&#x1;"), 400, "InvalidXmlDocument", at(33), badXML},
		{"POST /hints/messages", text("\xff"), 400, "InvalidXmlDocument", at(1), badXML},
		{"POST /hints/messages", text("b") + text("c"), 400, "InvalidXmlDocument", at(72), badXML},
		{"POST /hints/messages", text("b") + "c", 400, "InvalidXmlDocument", at(59), badXML},
		{"POST /hints/messages", "plain", 400, "InvalidXmlDocument", at(6), badXML},
		{"POST /hints/messages", "", 400, "InvalidXmlDocument", "<LineNumber>0</LineNumber><LinePosition>0</LinePosition><Reason />", badXML},
		{"POST /hints/messages", "<QueueMessage/>", 400, "MissingRequiredXmlNode", "<XmlNodeName>MessageText</XmlNodeName>", "A required XML node was not specified in the request body."},
		{"PUT " + own, text("b"), 400, "MissingRequiredQueryParameter", "<QueryParameterName>visibilitytimeout</QueryParameterName>", needs},
		{"PUT " + own + "&visibilitytimeout=604801", text("b"), 400, "OutOfRangeQueryParameterValue", between("visibilitytimeout", "604801", "0", "604800"), outOfRange},
		{"PUT " + own + "&visibilitytimeout=0", text(strings.Repeat("x", 65537)), 413, "RequestBodyTooLarge", "<MaxLimit>65536</MaxLimit>", tooBig},
		{"PUT /hints/messages/" + id + "?visibilitytimeout=0", text("b"), 400, "MissingRequiredQueryParameter", "<QueryParameterName>popreceipt</QueryParameterName>", needs},
		{"DELETE /hints/messages/" + id, "", 400, "MissingRequiredQueryParameter", "<QueryParameterName>popreceipt</QueryParameterName>", needs},
		{"DELETE /hints/messages/" + id + "?popreceipt=invalid", "", 400, "InvalidQueryParameterValue", parameter("popreceipt", "invalid", "<Reason>Invalid pop receipt format</Reason>"), badValue},
		{"DELETE /hints/messages/none?popreceipt=" + url.QueryEscape(receipt), "", 404, "MessageNotFound", "", "The specified message does not exist."},
		{"PUT /My-Queue", "", 400, "InvalidResourceName", "", badName},
		{"PUT /my--queue", "", 400, "InvalidResourceName", "", badName},
		{"PUT /-queue", "", 400, "InvalidResourceName", "", badName},
		{"PUT /my_queue", "", 400, "InvalidResourceName", "", badName},
		{"GET /My-Queue/messages", "", 400, "InvalidResourceName", "", badName},
		{"PUT /my", "", 400, "OutOfRangeInput", "", length},
		{"PUT /" + strings.Repeat("q", 64), "", 400, "OutOfRangeInput", "", length},
		{"GET /none/messages", "", 404, "QueueNotFound", "", noQueue},
		{"POST /none/messages", text("a"), 404, "QueueNotFound", "", noQueue},
		{"DELETE /none", "", 404, "QueueNotFound", "", noQueue},
		{"GET /none?comp=metadata", "", 404, "QueueNotFound", "", noQueue},
		{"GET /hints/other", "", 400, "InvalidUri", "", noURI},
		{"PATCH /hints/messages", "", 405, "UnsupportedHttpVerb", "", "The resource doesn't support specified Http Verb."},
		{"PUT /hints?comp=acl", "<a", 400, "InvalidXmlDocument", at(3), "XML specified is not syntactically valid."},
		{"GET /none?comp=acl", "", 404, "QueueNotFound", "", "The specified queue does not exist."},
		{"GET /?comp=userdelegationkey&restype=service", "", 501, "NotImplemented", "", "The requested operation is not implemented on the specified resource."},
		{"GET /?comp=list&maxresults=0", "", 400, "OutOfRangeQueryParameterValue", between("maxresults", "0", "1", "2147483647"), outOfRange},
		{"GET /?comp=list&marker=x", "", 400, "InvalidMarker", "", "The specified marker is invalid."},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		r.expectError(r.send(method, path, c.body), c.status, c.code, c.text, c.detail)
		if after := fmt.Sprint(r.QueueNames(), r.Messages("hints")); after != before {
			t.Fatalf("%s: got %s; want %s", c.request, after, before)
		}
	}
	// These requests are just within the limits.
	for _, query := range []string{"?visibilitytimeout=604799", "?visibilitytimeout=604800&messagettl=-1", "?messagettl=1", "?messagettl=100000000"} {
		r.put(strings.Repeat("é", 32768), query)
	}
	// In old versions a message lives for at most a week.
	r.expectError(r.send("POST", "/hints/messages?messagettl=-1", text("a"), "x-ms-version", "2015-04-05"), 400, "OutOfRangeQueryParameterValue", outOfRange, between("messagettl", "-1", "1", "604800"))
}
