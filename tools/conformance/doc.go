// Package conformance holds a service against exchanges with the live services, as the tests of the
// official SDKs recorded them.
//
// Each file in the folder cases is a topic: a list of [Case] values as text, in which lines of
// requests begin with > and lines of responses with <. [Cases] parses them. [Run] sends the
// requests of a case to a service and compares the status, the header and the body of the
// responses. [Score] sums up by topic. The command tools/conformance/main prints the score of a
// service.
//
// A case is
//
//	case: a page of two entities
//	facts: L49 L51
//	recorded: azure-storage-python test_query_entities_with_top_and_next #2
//	given: table
//
//	> POST /{name}
//	>
//	> {"PartitionKey":"p","RowKey":"1"}
//	< 201
//
//	> GET /{name}()?$top=2
//	< 200
//	< Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8
//	<
//	< {"odata.metadata":"{base}/$metadata#{name}","value":[...]}
//
// A response of a status alone belongs to the set-up: only its status is compared. A status with +
// belongs to the set-up, too, and only the headers and the body that the case lists are compared.
// Of other responses all is compared, also the headers that a case does not list: the lines after
// "standard" list those of all responses of a topic, and a name without a value takes a header
// away. {kind} in a response stands for text of this kind, and {name:kind} for the same text
// everywhere: a time and the same time in an ETag count as the same. A line after >*n is repeated n
// times, with the number in place of #.
package conformance
