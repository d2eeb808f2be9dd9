package conformance

import (
	"regexp"
	"strings"
)

// The reasons for which a response may differ from a recorded one.
const (
	versioning = "the recorded account keeps versions of blobs"
	tiers      = "the recorded account has tiers of access"
	namespaces = "the recorded account has a hierarchical namespace"
	otherRules = "the recorded account has rules for CORS that the recording does not set"
	redundancy = "the recorded account is kept in one location"
	frontEnds  = "some recorded front ends do not have the header yet"
)

// acceptedHeaders are the headers in which a response may differ from a recorded one, with the
// reasons.
var acceptedHeaders = map[string]string{
	"Vary":                       otherRules,
	"X-Ms-Sku-Name":              redundancy,
	"X-Ms-Version-Id":            versioning,
	"X-Ms-Is-Current-Version":    versioning,
	"X-Ms-Delete-Type-Permanent": versioning,
	"X-Ms-Access-Tier":           tiers,
	"X-Ms-Access-Tier-Inferred":  tiers,
	"X-Ms-Group":                 namespaces,
	"X-Ms-Owner":                 namespaces,
	"X-Ms-Permissions":           namespaces,
	"X-Ms-Resource-Type":         namespaces,

	"X-Ms-Immutable-Storage-With-Versioning-Enabled": frontEnds,
}

// acceptedTexts are the texts of bodies that are not compared, with the reasons.
var acceptedTexts = []struct {
	text   *regexp.Regexp
	by     string
	reason string
}{
	{regexp.MustCompile(`<VersionId>[^<]*</VersionId>|<IsCurrentVersion>true</IsCurrentVersion>`), "", versioning},
	{regexp.MustCompile(`<(AccessTier|AccessTierInferred)>[^<]*</(AccessTier|AccessTierInferred)>`), "", tiers},
}

// offers are the requests that storagetest does not offer, as the request line and the header, with
// the reasons.
var offers = []struct {
	request *regexp.Regexp
	reason  string
}{
	{regexp.MustCompile(`x-ms-blob-type: PageBlob|comp=(page|pagelist)\b|x-ms-sequence-number-action|x-ms-blob-content-length`), "page blobs"},
	{regexp.MustCompile(`comp=snapshot|[?&]snapshot=|x-ms-delete-snapshots`), "snapshots"},
	{regexp.MustCompile(`[?&]versionid=`), "versions of blobs"},
	// The recorder of azblob v0.6.1 gives both accounts one name.
	{regexp.MustCompile(`x-ms-copy-source: \S+/gocblobstartcopysourceprivate/`), "copies from another account"},
	{regexp.MustCompile(`comp=tier|x-ms-access-tier`), "tiers"},
	{regexp.MustCompile(`comp=(legalhold|immutabilityPolicies)|x-ms-(legal-hold|immutability-policy)`), "immutability"},
	{regexp.MustCompile(`comp=expiry`), "expiry of blobs"},
	{regexp.MustCompile(`comp=undelete|include=[a-z%0-9C,]*(deleted|versions|snapshots)|deletetype=`), "restoring what was deleted"},
	{regexp.MustCompile(`comp=seal|x-ms-seal`), "sealed blobs"},
	{regexp.MustCompile(`x-ms-encryption-(key|scope)|x-ms-default-encryption-scope`), "encryption with keys or scopes of the client"},
	{regexp.MustCompile(`x-ms-blob-public-access`), "public access"},
}

// before are reads of the state that an account had before a recording, with the reasons. Their
// bodies are not compared.
var before = []struct {
	request *regexp.Regexp
	reason  string
}{
	{regexp.MustCompile(`^GET /\?comp=properties&restype=service$`), "the properties are those that earlier recordings set"},
	{regexp.MustCompile(`^GET /\?comp=list(&|$)`), "the recorded account contains other containers"},
}

// stateBefore returns why the body of a response depends on what was before the recording, or "".
func stateBefore(x Exchange) string {
	for _, b := range before {
		if b.request.MatchString(x.method + " " + x.path) {
			return b.reason
		}
	}
	return ""
}

// notOffered returns why an operation is not offered, or "".
func notOffered(x Exchange) string {
	var b strings.Builder
	b.WriteString(x.method + " " + x.path + "\n")
	for _, l := range x.header {
		b.WriteString(strings.ToLower(l.name) + ": " + l.value + "\n")
	}
	for _, o := range offers {
		if o.request.MatchString(b.String()) {
			return o.reason
		}
	}
	return ""
}
