package blobs

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// maxList is the most containers or blobs in a page.
const maxList = 5000

// pageSize returns how many containers or blobs a page has at most.
func (c *call) pageSize(limit *int) (int, *xmlform.Failure) {
	n, f := xmlform.Number(c.Query, "maxresults", maxList, 1, 1<<31-1)
	n = min(n, maxList)
	if limit != nil {
		n = min(n, int64(*limit))
	}
	return int(n), f
}

// listContainers returns a page of containers in the order of their names. A marker consists of the account's name and that of the
// next container.
func (c *call) listContainers(now time.Time, limit *int) *xmlform.Response {
	n, f := c.pageSize(limit)
	if f != nil {
		return xmlform.Refuse(f)
	}
	marker := c.Query.Get("marker")
	from, ok := strings.CutPrefix(marker, "/"+c.Account.Name+"/")
	if !ok && marker != "" {
		return xmlform.Refuse(errOutOfRange)
	}
	next := ""
	page := names(c.store.containers, c.Query.Get("prefix"), from)
	if len(page) > n {
		next, page = "/"+c.Account.Name+"/"+page[n], page[:n]
	}
	return &xmlform.Response{Status: http.StatusOK, Body: c.containersXML(page, next, now)}
}

// listBlobs returns a page of the blobs of a container in the order of their names. With a delimiter, blobs with the same beginning
// up to the delimiter are one entry.
func (c *call) listBlobs(target *container, now time.Time, limit *int) *xmlform.Response {
	n, f := c.pageSize(limit)
	if f == nil {
		f = c.checkContainer(target, now)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	from, ok := parseMarker(c.Query.Get("marker"))
	if !ok {
		return xmlform.Refuse(errOutOfRange)
	}
	prefix, delimiter := c.Query.Get("prefix"), c.Query.Get("delimiter")
	var page []entry
	next := ""
	for _, name := range names(target.blobs, prefix, from) {
		e := entry{name, target.lookup(name, now)}
		if !e.blob.exists() && (e.blob == nil || !xmlform.Includes(c.Query, "uncommittedblobs")) {
			continue
		}
		if i := strings.Index(name[len(prefix):], delimiter); delimiter != "" && i >= 0 {
			e = entry{name: name[:len(prefix)+i+len(delimiter)]}
			if len(page) > 0 && page[len(page)-1].name == e.name {
				continue
			}
		}
		if len(page) == n {
			next = newMarker(name)
			break
		}
		page = append(page, e)
	}
	return &xmlform.Response{Status: http.StatusOK, Body: c.blobsXML(target, page, next, now)}
}

// noSnapshot is the part of a marker that names the snapshot of the next blob.
const noSnapshot = "!000028!9999-12-31T23:59:59.9999999Z!"

var markerEncoding = base64.StdEncoding.WithPadding('-')

// newMarker returns the marker of a page that begins with a name, in the form of the live service.
func newMarker(name string) string {
	text := markerEncoding.EncodeToString(fmt.Appendf(nil, "%06d!%s%s", len(name), name, noSnapshot))
	return fmt.Sprintf("2!%d!%s", len(text), text)
}

// parseMarker returns the name with which a page begins.
func parseMarker(marker string) (name string, ok bool) {
	if marker == "" {
		return "", true
	}
	parts := strings.SplitN(marker, "!", 3)
	if len(parts) < 3 {
		return "", false
	}
	b, err := markerEncoding.DecodeString(parts[2])
	_, rest, _ := strings.Cut(string(b), "!")
	name, ok = strings.CutSuffix(rest, noSnapshot)
	return name, ok && err == nil && newMarker(name) == marker
}
