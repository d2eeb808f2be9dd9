package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRandomBlockBlobRequests: every service responds to the same random requests for block blobs in the same way.
func TestRandomBlockBlobRequests(t *testing.T) {
	t.Parallel()
	compareRandom(t, func(r *randomBlobs) randomClient {
		return &randomBlocks{r, map[string]bool{}}
	})
}

// randomBlocks sends random requests for a few block blobs of one container. It does not replace or
// delete a blob with uncommitted blocks, whose fate is a known difference, and it breaks no lease,
// which an uncommitted block ends in the emulator.
type randomBlocks struct {
	*randomBlobs
	staged map[string]bool // the blobs with uncommitted blocks
}

// next implements randomClient.
func (r *randomBlocks) next() (request, response string) {
	r.Helper()
	name := r.one("a", "b", "c/d")
	path := r.container + "/" + name
	method, body := "PUT", ""
	var header []string
	operation := r.rng.IntN(14)
	if r.staged[name] && operation < 3 {
		operation += 3
	}
	switch operation {
	case 0:
		body = r.one("", "put", "longer content")
		header = append(r.conditions(name, true), "x-ms-blob-type", "BlockBlob", "x-ms-meta-n", fmt.Sprint(r.rng.IntN(9)))
		header = r.maybe(header, "x-ms-blob-content-type", "text/plain")
		header = r.maybe(header, "If-None-Match", "*")
	case 1:
		method, header = "DELETE", r.conditions(name, true)
	case 2:
		header = append(r.conditions(name, true), "x-ms-blob-type", "AppendBlob")
	case 3, 4, 5, 6:
		body = strings.Repeat(r.one("x", "y"), 1+r.rng.IntN(5))
		path += "?comp=block&blockid=" + r.one("AAAA", "BBBB", "CCCC")
		header = r.maybe(header, "x-ms-lease-id", r.leaseID())
	case 7, 8:
		path += "?comp=blocklist"
		var list []string
		for range r.rng.IntN(4) {
			list = append(list, r.one("Latest", "Latest", "Committed", "Uncommitted")+" "+r.one("AAAA", "BBBB", "CCCC"))
		}
		body = blockList(strings.Join(list, ","))
		header = append(r.conditions(name, true), "x-ms-blob-content-type", "image/jpeg", "x-ms-blob-content-md5", "bm90IGNoZWNrZWQgaGVyZQ==")
		header = r.maybe(header, "x-ms-meta-n", fmt.Sprint(r.rng.IntN(9)))
	case 9:
		method = r.one("GET", "HEAD")
		header = r.conditions(name, false)
		if from := r.rng.IntN(12); method == "GET" {
			header = r.maybe(header, "x-ms-range", fmt.Sprintf("bytes=%d-%d", from, from+r.rng.IntN(9)))
		}
	case 10:
		path, header = path+"?comp=lease", r.leaseChange()
		for slices.Contains(header, "break") {
			header = r.leaseChange()
		}
	case 11:
		method, path = "GET", r.list("&include=uncommittedblobs"+r.one("", "&prefix=c/", "&delimiter=/"))
	case 12:
		path, body = path+"?comp=appendblock", "z"
	default:
		method, path = "GET", path+"?comp=blocklist&blocklisttype="+r.one("all", "committed", "uncommitted")
	}
	request, head, text := r.sendTo(name, method, path, body, header)
	switch status := head.Get("Status"); {
	case strings.Contains(path, "comp=block&") && status == "201":
		r.staged[name] = true
	case strings.Contains(path, "comp=blocklist") && method == "PUT" && status == "201":
		delete(r.staged, name)
	}
	if strings.Contains(path, "blocklisttype") && head.Get("Status") == "200" {
		return request, head.Get("Status") + " " + strings.Join(blocksOf(text), " ")
	}
	return request, r.outcome(method, head, text)
}

// blocksOf returns the committed blocks and then the sorted uncommitted blocks of a response, with their sizes.
func blocksOf(body string) (all []string) {
	for _, list := range []string{"CommittedBlocks", "UncommittedBlocks"} {
		first := len(all)
		for part := range strings.SplitSeq(xmlPart(body, list), "<Block>") {
			if strings.Contains(part, "<Name>") {
				all = append(all, xmlPart(part, "Name")+"="+xmlPart(part, "Size"))
			}
		}
		if list == "UncommittedBlocks" {
			slices.Sort(all[first:])
		}
		all = append(all, "|")
	}
	return all
}
