package storagetest_test

import "slices"

// sample is a request for an operation that succeeds.
type sample struct {
	method, path string
	body         string
	header       []string // names and values
}

// The texts in samples that an account determines.
const (
	etagOfBlob   = "{etag}"
	etagOfSource = "{source-etag}"
	ofCopySource = "{source}"
	popReceipt   = "{receipt}"
)

const (
	toBlock  = "/logs/b.txt"
	toAppend = "/logs/a.log"
	toLogs   = "/logs?restype=container"
	toRow    = "/staff(PartitionKey='p',RowKey='r')"
	toJobs   = "/jobs"
	rowBody  = `{"PartitionKey":"p","RowKey":"new"}`
	identity = "0f8fad5b-d9cb-469f-a165-70867728950e"
	settings = "<StorageServiceProperties></StorageServiceProperties>"
	message  = "<QueueMessage><MessageText>a</MessageText></QueueMessage>"
	policies = "<SignedIdentifiers></SignedIdentifiers>"
)

var (
	asJSON  = []string{"Content-Type", "application/json"}
	asBlock = []string{"x-ms-blob-type", "BlockBlob"}
	source  = []string{"x-ms-copy-source", ofCopySource}
)

// samples are requests for the operations that storagetest offers, by service. All others are
// refused with 501.
var samples = map[string]map[string]sample{
	"table": {
		"ServiceClient.getProperties":                   {"GET", "/?restype=service&comp=properties", "", nil},
		"ServiceClient.setProperties":                   {"PUT", "/?restype=service&comp=properties", settings, nil},
		"ServiceClient.getStatistics":                   {"GET", "secondary/?restype=service&comp=stats", "", nil},
		"TableClient.create":                            {"POST", "/Tables", `{"TableName":"other"}`, asJSON},
		"TableClient.delete":                            {"DELETE", "/Tables('staff')", "", nil},
		"TableClient.query":                             {"GET", "/Tables", "", nil},
		"TableClient.DeleteEntity":                      {"DELETE", toRow, "", []string{"If-Match", "*"}},
		"TableClient.InsertEntity":                      {"POST", "/staff", rowBody, asJSON},
		"TableClient.MergeEntity":                       {"MERGE", toRow, rowBody, asJSON},
		"TableClient.UpdateEntity":                      {"PUT", toRow, rowBody, asJSON},
		"TableClient.queryEntities":                     {"GET", "/staff()", "", nil},
		"TableClient.queryEntityWithPartitionAndRowKey": {"GET", toRow, "", nil},
		"TableClient.getAccessPolicy":                   {"GET", "/staff?comp=acl", "", nil},
		"TableClient.setAccessPolicy":                   {"PUT", "/staff?comp=acl", policies, nil},
	},
	"queue": {
		"ServiceClient.getProperties":     {"GET", "/?restype=service&comp=properties", "", nil},
		"ServiceClient.setProperties":     {"PUT", "/?restype=service&comp=properties", settings, nil},
		"ServiceClient.getStatistics":     {"GET", "secondary/?restype=service&comp=stats", "", nil},
		"ServiceClient.ListQueuesSegment": {"GET", "/?comp=list", "", nil},
		"QueueClient.create":              {"PUT", "/new", "", nil},
		"QueueClient.delete":              {"DELETE", toJobs, "", nil},
		"QueueClient.getProperties":       {"GET", toJobs + "?comp=metadata", "", nil},
		"QueueClient.setMetadata":         {"PUT", toJobs + "?comp=metadata", "", nil},
		"QueueClient.getAccessPolicy":     {"GET", toJobs + "?comp=acl", "", nil},
		"QueueClient.setAccessPolicy":     {"PUT", toJobs + "?comp=acl", policies, nil},
		"MessagesClient.enqueue":          {"POST", toJobs + "/messages", message, nil},
		"MessagesClient.dequeue":          {"GET", toJobs + "/messages", "", nil},
		"MessagesClient.peek":             {"GET", toJobs + "/messages?peekonly=true", "", nil},
		"MessagesClient.clear":            {"DELETE", toJobs + "/messages", "", nil},
		"MessageIDClient.update":          {"PUT", toJobs + "/messages/{id}?visibilitytimeout=9&popreceipt=" + popReceipt, message, nil},
		"MessageIDClient.delete":          {"DELETE", toJobs + "/messages/{id}?popreceipt=" + popReceipt, "", nil},
	},
	"blob": {
		"ServiceClient.getProperties":                         {"GET", "/?restype=service&comp=properties", "", nil},
		"ServiceClient.setProperties":                         {"PUT", "/?restype=service&comp=properties", settings, nil},
		"ServiceClient.getStatistics":                         {"GET", "secondary/?restype=service&comp=stats", "", nil},
		"ServiceClient.getAccountInfo":                        {"GET", "/?restype=account&comp=properties", "", nil},
		"ServiceClient.listContainersSegment":                 {"GET", "/?comp=list", "", nil},
		"ContainerClient.create":                              {"PUT", "/new?restype=container", "", nil},
		"ContainerClient.delete":                              {"DELETE", toLogs, "", nil},
		"ContainerClient.getProperties":                       {"GET", toLogs, "", nil},
		"ContainerClient.getAccountInfo":                      {"GET", "/logs?restype=account&comp=properties", "", nil},
		"ContainerClient.setMetadata":                         {"PUT", toLogs + "&comp=metadata", "", nil},
		"ContainerClient.getAccessPolicy":                     {"GET", toLogs + "&comp=acl", "", nil},
		"ContainerClient.setAccessPolicy":                     {"PUT", toLogs + "&comp=acl", policies, nil},
		"ContainerClient.listBlobFlatSegment":                 {"GET", toLogs + "&comp=list", "", nil},
		"ContainerClient.listBlobFlatSegmentApacheArrow":      {"GET", toLogs + "&comp=list", "", nil},
		"ContainerClient.listBlobHierarchySegment":            {"GET", toLogs + "&comp=list&delimiter=/", "", nil},
		"ContainerClient.listBlobHierarchySegmentApacheArrow": {"GET", toLogs + "&comp=list&delimiter=/", "", nil},
		"ContainerClient.acquireLease":                        {"PUT", toLogs + "&comp=lease", "", []string{"x-ms-lease-action", "acquire", "x-ms-lease-duration", "15"}},
		"ContainerClient.breakLease":                          {"PUT", "/leased?restype=container&comp=lease", "", []string{"x-ms-lease-action", "break"}},
		"ContainerClient.changeLease":                         {"PUT", "/leased?restype=container&comp=lease", "", []string{"x-ms-lease-action", "change", "x-ms-lease-id", leaseA, "x-ms-proposed-lease-id", leaseB}},
		"ContainerClient.releaseLease":                        {"PUT", "/leased?restype=container&comp=lease", "", []string{"x-ms-lease-action", "release", "x-ms-lease-id", leaseA}},
		"ContainerClient.renewLease":                          {"PUT", "/leased?restype=container&comp=lease", "", []string{"x-ms-lease-action", "renew", "x-ms-lease-id", leaseA}},
		"BlobClient.acquireLease":                             {"PUT", toBlock + "?comp=lease", "", []string{"x-ms-lease-action", "acquire", "x-ms-lease-duration", "15"}},
		"BlobClient.breakLease":                               {"PUT", "/logs/leased?comp=lease", "", []string{"x-ms-lease-action", "break"}},
		"BlobClient.changeLease":                              {"PUT", "/logs/leased?comp=lease", "", []string{"x-ms-lease-action", "change", "x-ms-lease-id", leaseA, "x-ms-proposed-lease-id", leaseB}},
		"BlobClient.releaseLease":                             {"PUT", "/logs/leased?comp=lease", "", []string{"x-ms-lease-action", "release", "x-ms-lease-id", leaseA}},
		"BlobClient.renewLease":                               {"PUT", "/logs/leased?comp=lease", "", []string{"x-ms-lease-action", "renew", "x-ms-lease-id", leaseA}},
		"BlobClient.download":                                 {"GET", toBlock, "", nil},
		"BlobClient.getProperties":                            {"HEAD", toBlock, "", nil},
		"BlobClient.getAccountInfo":                           {"GET", toBlock + "?restype=account&comp=properties", "", nil},
		"BlobClient.delete":                                   {"DELETE", toBlock, "", nil},
		"BlobClient.setHTTPHeaders":                           {"PUT", toBlock + "?comp=properties", "", nil},
		"BlobClient.setMetadata":                              {"PUT", toBlock + "?comp=metadata", "", nil},
		"BlobClient.startCopyFromURL":                         {"PUT", toBlock, "", source},
		"BlobClient.copyFromURL":                              {"PUT", toBlock, "", slices.Concat(source, []string{"x-ms-requires-sync", "true"})},
		"BlobClient.abortCopyFromURL":                         {"PUT", toBlock + "?comp=copy&copyid=" + identity, "", []string{"x-ms-copy-action", "abort"}},
		"BlockBlobClient.upload":                              {"PUT", toBlock, "hello", asBlock},
		"BlockBlobClient.uploadBlobFromURL":                   {"PUT", toBlock, "", slices.Concat(asBlock, source)},
		"BlockBlobClient.stageBlock":                          {"PUT", toBlock + "?comp=block&blockid=AAAA", "hello", nil},
		"BlockBlobClient.stageBlockFromURL":                   {"PUT", toBlock + "?comp=block&blockid=AAAA", "", source},
		"BlockBlobClient.commitBlockList":                     {"PUT", toBlock + "?comp=blocklist", "<BlockList></BlockList>", nil},
		"BlockBlobClient.getBlockList":                        {"GET", toBlock + "?comp=blocklist", "", nil},
		"AppendBlobClient.create":                             {"PUT", toAppend, "", []string{"x-ms-blob-type", "AppendBlob"}},
		"AppendBlobClient.appendBlock":                        {"PUT", toAppend + "?comp=appendblock", "hello", nil},
		"AppendBlobClient.appendBlockFromURL":                 {"PUT", toAppend + "?comp=appendblock", "", source},
	},
}

// refusedSamples are requests for the operations that storagetest refuses with 501, by service.
var refusedSamples = map[string]map[string]sample{
	"queue": {"ServiceClient.getUserDelegationKey": {"POST", "/?restype=service&comp=userdelegationkey", "", nil}},
	"blob": {
		"ServiceClient.getUserDelegationKey":  {"POST", "/?restype=service&comp=userdelegationkey", "", nil},
		"ServiceClient.filterBlobs":           {"GET", "/?comp=blobs", "", nil},
		"ServiceClient.submitBatch":           {"POST", "/?comp=batch", "", nil},
		"ContainerClient.filterBlobs":         {"GET", toLogs + "&comp=blobs", "", nil},
		"ContainerClient.submitBatch":         {"POST", toLogs + "&comp=batch", "", nil},
		"ContainerClient.rename":              {"PUT", toLogs + "&comp=rename", "", nil},
		"ContainerClient.restore":             {"PUT", toLogs + "&comp=undelete", "", nil},
		"BlobClient.createSnapshot":           {"PUT", toBlock + "?comp=snapshot", "", nil},
		"BlobClient.undelete":                 {"PUT", toBlock + "?comp=undelete", "", nil},
		"BlobClient.getTags":                  {"GET", toBlock + "?comp=tags", "", nil},
		"BlobClient.setTags":                  {"PUT", toBlock + "?comp=tags", "", nil},
		"BlobClient.setTier":                  {"PUT", toBlock + "?comp=tier", "", nil},
		"BlobClient.setExpiry":                {"PUT", toBlock + "?comp=expiry", "", nil},
		"BlobClient.setImmutabilityPolicy":    {"PUT", toBlock + "?comp=immutabilityPolicies", "", nil},
		"BlobClient.deleteImmutabilityPolicy": {"DELETE", toBlock + "?comp=immutabilityPolicies", "", nil},
		"BlobClient.setLegalHold":             {"PUT", toBlock + "?comp=legalhold", "", nil},
		"BlockBlobClient.query":               {"POST", toBlock + "?comp=query", "", nil},
		"AppendBlobClient.seal":               {"PUT", toAppend + "?comp=seal", "", nil},
		"PageBlobClient.create":               {"PUT", "/logs/p", "", []string{"x-ms-blob-type", "PageBlob"}},
		"PageBlobClient.uploadPages":          {"PUT", toBlock + "?comp=page", "a", nil},
		"PageBlobClient.uploadPagesFromURL":   {"PUT", toBlock + "?comp=page", "", source},
		"PageBlobClient.clearPages":           {"PUT", toBlock + "?comp=page", "", nil},
		"PageBlobClient.getPageRanges":        {"GET", toBlock + "?comp=pagelist", "", nil},
		"PageBlobClient.getPageRangesDiff":    {"GET", toBlock + "?comp=pagelist&prevsnapshot=x", "", nil},
		"PageBlobClient.copyIncremental":      {"PUT", toBlock + "?comp=incrementalcopy", "", source},
		"PageBlobClient.resize":               {"PUT", toBlock + "?comp=properties", "", []string{"x-ms-blob-content-length", "512"}},
		"PageBlobClient.updateSequenceNumber": {"PUT", toBlock + "?comp=properties", "", []string{"x-ms-sequence-number-action", "increment"}},
	},
}

// withoutEffect are the headers and parameters without an effect in memory: a value to send, or ""
// for what the connection or the choice of the operation determines.
var withoutEffect = map[string]string{
	"Accept":                   "application/xml", // of queues and blobs, whose only form is XML
	"accept":                   "application/vnd.apache.arrow.stream,application/xml",
	"Content-Type":             "application/xml", // the form of the body is known, but for Put Blob
	"DataServiceVersion":       "3.0",
	"timeout":                  "30",     // the service is never slow
	"x-ms-file-request-intent": "backup", // sources that are files are not offered
	"Content-Length":           "", "comp": "", "restype": "", "peekonly": "", "x-ms-requires-sync": "",
}

// alwaysRefused are the headers that are refused with 409 whatever their value, as by an account
// without what they ask for.
var alwaysRefused = map[string]string{"x-ms-blob-public-access": "blob"}

const (
	early = "Mon, 02 Jan 2006 15:04:05 GMT"
	late  = "Mon, 02 Jan 2040 15:04:05 GMT"
	wrong = "AAAAAAAAAAAAAAAAAAAAAA==" // no content's MD5
)

// probes are values that each make a difference if they are applied: valid ones where the sample
// leaves room for them, and invalid ones.
var probes = map[string][]string{
	"x-ms-client-request-id": {"probe"}, "x-ms-version": {"2099-01-01"},
	"Prefer": {"return-no-content"}, "If-Match": {`"0x8D4BCC2E4835CD0"`}, "If-None-Match": {etagOfBlob},
	"If-Modified-Since": {late, "x"}, "If-Unmodified-Since": {early, "x"},
	"$filter": {"A eq 5", "("}, "$format": {"application/json;odata=fullmetadata", "application/atom+xml"}, "$select": {"RowKey", ","},
	"$top": {"1", "0"}, "NextPartitionKey": {"1!4!eg--", "x"}, "NextRowKey": {"x"}, "NextTableName": {"1!8!emVicmE-", "x"},
	"popreceipt": {"x"}, "visibilitytimeout": {"99", "-1"}, "numofmessages": {"2", "99"}, "messagettl": {"99", "0"},
	"include": {"metadata", "x"}, "marker": {"x"}, "maxresults": {"1", "0"}, "prefix": {"l", "x"}, "delimiter": {"b"},
	"startFrom": {"b", "x"}, "endBefore": {"b", "a"}, "blocklisttype": {"all", "x"}, "blockid": {"BBBB", "!"},
	"copyid": {"x"}, "snapshot": {"x"}, "versionid": {"x"}, "deletetype": {"permanent"},
	"Range": {"bytes=1-2"}, "Content-MD5": {wrong, "x"}, "x-ms-content-crc64": {"AAAAAAAAAAA=", "x"},
	"x-ms-range-get-content-md5": {"true"}, "x-ms-range-get-content-crc64": {"true"},
	"x-ms-structured-body": {"XSM/1.0; properties=crc64", "x"},
	"x-ms-lease-id":        {identity}, "x-ms-proposed-lease-id": {identity, "x"}, "x-ms-lease-action": {"x"}, "x-ms-lease-duration": {"-1", "5"},
	"x-ms-lease-break-period": {"9", "99"}, "x-ms-blob-condition-appendpos": {"77", "x"}, "x-ms-blob-condition-maxsize": {"1", "x"},
	"x-ms-blob-content-md5": {wrong}, "x-ms-blob-type": {"x"},
	"x-ms-copy-source": {"x"}, "x-ms-copy-action": {"x"}, "x-ms-copy-source-blob-properties": {"false", "x"},
	"x-ms-source-content-md5": {wrong, "x"}, "x-ms-source-content-crc64": {"AAAAAAAAAAA=", "x"}, "x-ms-source-range": {"bytes=1-2", "x"},
	"x-ms-source-if-match": {"x"}, "x-ms-source-if-none-match": {etagOfSource},
	"x-ms-source-if-modified-since": {late, "x"}, "x-ms-source-if-unmodified-since": {early, "x"}, "x-ms-delete-snapshots": {"x"},
}
