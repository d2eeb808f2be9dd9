package integration

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
)

// TestRandomBlobRequests: every service responds to the same random requests for blobs in the same way.
func TestRandomBlobRequests(t *testing.T) {
	t.Parallel()
	compareRandom(t, func(r *randomBlobs) randomClient { return r })
}

// randomClient sends random requests to a service.
type randomClient interface {
	// next sends the next request. It returns the request and what matters of the response.
	next() (request, response string)
}

var blobSeeds = testkit.Count("blobseeds", 1, "series of random requests for blobs that are compared")

// compareRandom sends the same random requests to every service.
func compareRandom(t *testing.T, client func(*randomBlobs) randomClient) {
	for seed := range *blobSeeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var all []randomClient
			compared := services()
			for _, b := range compared {
				blobs := &randomBlobs{rawBlob: newRawClient(t, b).blob(), rng: rand.New(rand.NewPCG(uint64(seed), 1))}
				blobs.etags, blobs.exists = map[string][]string{}, map[string]bool{}
				all = append(all, client(blobs))
			}
			counts := map[string]int{}
			for i := range 300 {
				request, want := all[0].next()
				for k, other := range all[1:] {
					_, got := other.next()
					if got != want && !isKnownDifference(want, got) {
						t.Fatalf("request %d, %s:\n%s: got %s\n%s: got %s", i, request, compared[0].Name(), want, compared[k+1].Name(), got)
					}
				}
				counts[strings.Join(strings.Fields(want)[:1], "")]++
			}
			if len(counts) < 6 {
				t.Errorf("got responses %v; want more statuses", counts)
			}
		})
	}
}

// isKnownDifference reports whether two responses differ as blobDifferences says: in the ID of a
// broken lease, in a range behind the end, in the order in which a lease and conditions are
// checked, and in conditions on a blob that does not exist.
func isKnownDifference(want, got string) bool {
	condition := strings.HasPrefix(got, "412 ConditionNotMet") || strings.HasPrefix(got, "409 BlobAlreadyExists")
	switch {
	case strings.HasPrefix(want, "416 InvalidRange"):
		return true
	case strings.HasPrefix(want, "412 LeaseLost"):
		return condition || strings.HasPrefix(got, "412 LeaseNotPresentWith")
	case strings.HasPrefix(want, "412 Lease"), strings.HasPrefix(want, "404 BlobNotFound"):
		return condition
	}
	return false
}

// randomBlobs sends random requests for a few blobs of one container. A write of a blob that does
// not exist has no lease ID, which is a known difference.
type randomBlobs struct {
	*rawBlob
	rng    *rand.Rand
	etags  map[string][]string // the ETags that each blob had
	exists map[string]bool
}

// one returns a random text.
func (r *randomBlobs) one(of ...string) string { return of[r.rng.IntN(len(of))] }

// maybe adds a header to some requests.
func (r *randomBlobs) maybe(header []string, name, value string) []string {
	if r.rng.IntN(3) == 0 {
		return append(header, name, value)
	}
	return header
}

// conditions returns a random condition with an ETag that the blob has or had, and a random lease ID.
func (r *randomBlobs) conditions(name string, writes bool) (header []string) {
	known := r.etags[name]
	age := r.rng.IntN(3)
	etag := `"0x8D6D41706E2489F"`
	if age < len(known) {
		etag = known[len(known)-1-age]
	}
	switch r.rng.IntN(6) {
	case 0:
		header = append(header, "If-Match", etag)
	case 1:
		header = append(header, "If-None-Match", etag)
	case 2:
		if !writes {
			header = append(header, "If-Match", "*")
		}
	}
	if r.rng.IntN(4) == 0 {
		header = append(header, "x-ms-lease-id", r.leaseID())
	}
	return header
}

func (r *randomBlobs) leaseID() string {
	return r.one("aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002")
}

// next implements randomClient.
func (r *randomBlobs) next() (request, response string) {
	r.Helper()
	name := r.one("a", "b", "c/d")
	path := r.container + "/" + name
	method, body := "PUT", ""
	var header []string
	switch r.rng.IntN(12) {
	case 0:
		header = append(r.conditions(name, true), "x-ms-blob-type", "AppendBlob", "x-ms-meta-n", fmt.Sprint(r.rng.IntN(9)))
		header = r.maybe(header, "x-ms-blob-content-type", "text/plain")
	case 1, 2, 3, 4:
		path, body = path+"?comp=appendblock", strings.Repeat(r.one("x", "y"), 1+r.rng.IntN(5))
		header = r.maybe(r.conditions(name, true), "x-ms-blob-condition-appendpos", fmt.Sprint(r.rng.IntN(12)))
		header = r.maybe(header, "x-ms-blob-condition-maxsize", fmt.Sprint(10+r.rng.IntN(20)))
	case 5:
		method = "HEAD"
		header = r.conditions(name, false)
	case 6:
		method = "GET"
		header = r.conditions(name, false)
		from := r.rng.IntN(12)
		header = r.maybe(header, "x-ms-range", fmt.Sprintf("bytes=%d-%d", from, from+r.rng.IntN(9)))
	case 7:
		method = "DELETE"
		header = r.conditions(name, true)
	case 8:
		path += "?comp=metadata"
		header = append(r.conditions(name, true), "x-ms-meta-n", fmt.Sprint(r.rng.IntN(9)))
	case 9, 10:
		path, header = path+"?comp=lease", r.leaseChange()
	default:
		method, path = "GET", r.list(r.one("", "&prefix=c/", "&prefix=x", "&delimiter=/"))
	}
	request, head, text := r.sendTo(name, method, path, body, header)
	return request, r.outcome(method, head, text)
}

// leaseChange returns the header of a random lease operation.
func (r *randomBlobs) leaseChange() []string {
	action := r.one("acquire", "acquire", "renew", "change", "release", "release", "break")
	header := []string{"x-ms-lease-action", action}
	if action == "acquire" || action == "change" {
		header = append(header, "x-ms-proposed-lease-id", r.leaseID())
	}
	switch action {
	case "acquire":
		return append(header, "x-ms-lease-duration", "-1")
	case "break":
		return append(header, "x-ms-lease-break-period", "0")
	}
	return append(header, "x-ms-lease-id", r.leaseID())
}

// sendTo sends a request for a blob, and notes the ETag of the blob.
func (r *randomBlobs) sendTo(name, method, path, body string, header []string) (request string, head http.Header, text string) {
	r.Helper()
	if i := slices.Index(header, "x-ms-lease-id"); i >= 0 && !r.exists[name] && !strings.Contains(path, "comp=lease") {
		header = slices.Delete(header, i, i+2)
	}
	request = fmt.Sprint(method, " ", strings.TrimPrefix(path, r.container), " ", header)
	head, text = r.send(method, path, body, header...)
	switch status := head.Get("Status"); {
	case method == "DELETE" && status == "202":
		delete(r.etags, name)
		delete(r.exists, name)
	case method == "PUT" && status == "201":
		r.exists[name] = true // perhaps with uncommitted blocks only
	}
	if etag := head.Get("ETag"); etag != "" && method != "GET" && head.Get("Status") < "300" {
		r.etags[name] = append(r.etags[name], etag)
	}
	return request, head, text
}

// outcome returns what matters of a response.
func (r *randomBlobs) outcome(method string, head http.Header, text string) string {
	response := head.Get("Status") + " " + head.Get("x-ms-error-code")
	if head.Get("Status") >= "300" {
		return response
	}
	for _, name := range []string{"Content-Range", "Content-Type", "x-ms-blob-type", "x-ms-blob-append-offset", "x-ms-blob-committed-block-count", "x-ms-meta-n", "x-ms-lease-state", "x-ms-lease-status", "x-ms-lease-duration", "x-ms-lease-id", "x-ms-lease-time"} {
		if name != "Content-Type" || text != "" && !strings.Contains(text, "<?xml") {
			response += " " + head.Get(name)
		}
	}
	if method == "HEAD" {
		response += " " + head.Get("Content-Length")
	}
	if !strings.Contains(text, "<?xml") {
		return response + " " + text
	}
	for _, element := range []string{"Name", "Content-Length", "LeaseState", "LeaseStatus"} { // of a list, in which prefixes have different places
		var values []string
		for part := range strings.SplitSeq(text, "<"+element+">") {
			if value, _, ok := strings.Cut(part, "</"+element+">"); ok {
				values = append(values, value)
			}
		}
		slices.Sort(values)
		response += " " + joined(values)
	}
	return response
}
