package blobs

import (
	"bytes"
	"encoding/xml"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// putBlock puts an uncommitted block. b is nil if there is no blob; a blob with uncommitted blocks
// only is created then. The ETag of a blob does not change, and conditions are not checked.
func (c *call) putBlock(parent *container, name string, b *blob, now time.Time) *xmlform.Response {
	id, f := c.blockID()
	if f == nil {
		f = c.checkBlock(blockLimits)
	}
	switch {
	case f != nil:
	case b == nil:
		f = c.checkCreateLease(nil, now)
	default:
		f = c.checkStaged(b, id, now)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	if b == nil {
		b = &blob{name: name, kind: blockBlob, created: now}
		parent.blobs[name] = b
	}
	b.staged.put(id, c.ownBody(), now)
	header := encrypted(http.Header{})
	c.setChecksum(header)
	c.echoStructured(header)
	return &xmlform.Response{Status: http.StatusCreated, Header: header}
}

// checkStaged checks whether a blob can have a further uncommitted block.
func (c *call) checkStaged(b *blob, id string, now time.Time) *xmlform.Failure {
	_, replaces := b.staged.blocks[id]
	switch f := b.lease.checkRequired(c.Header.Get("x-ms-lease-id"), now, blobLease); {
	case b.kind != blockBlob:
		return errWrongBlobType
	case f != nil:
		return f
	case !b.staged.fits(id):
		return errBlock
	case !replaces && len(b.staged.blocks) >= maxStaged:
		return errStagedCount
	}
	return nil
}

// commitBlocks creates or replaces a block blob by a list of its blocks. b is nil if there is no
// blob. All other blocks are discarded.
func (c *call) commitBlocks(parent *container, name string, b *blob, now time.Time) *xmlform.Response {
	list, f := parseBlockList(c.Body)
	if f == nil {
		f = c.checkChecksum(c.Header.Get("Content-MD5"))
	}
	x, xf := c.createConditions()
	if f == nil {
		f = xf
	}
	if f == nil {
		f = x.checkCreate(b, now)
	}
	if f == nil && b != nil && b.kind != blockBlob {
		f = errWrongBlobType
	}
	if f == nil {
		f = c.checkCreateLease(b, now)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	committed, f := c.newBlob(name, blockBlob, "", &blob{})
	if f == nil {
		f = committed.take(list, b)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	c.storeBlob(parent, committed, now)
	header := encrypted(committed.header())
	c.setChecksum(header)
	return &xmlform.Response{Status: http.StatusCreated, Header: header}
}

// take makes the listed blocks of a blob, which may be nil, the content of b.
func (b *blob) take(list []listedBlock, from *blob) *xmlform.Failure {
	committed, staged := map[string][]byte{}, map[string][]byte(nil)
	if from != nil {
		staged = from.staged.blocks
		for i, id := range from.ids {
			committed[id] = from.content.blocks[i]
		}
	}
	for _, l := range list {
		block, ok := staged[l.id]
		if l.from == "Committed" || !ok && l.from == "Latest" {
			block, ok = committed[l.id]
		}
		if !ok {
			return errBlockList
		}
		b.content.append(block)
		b.ids = append(b.ids, l.id)
	}
	return nil
}

// getBlockList returns the committed or uncommitted blocks of a block blob, or both.
func (c *call) getBlockList(b *blob, now time.Time) *xmlform.Response {
	kind := strings.ToLower(c.Query.Get("blocklisttype"))
	if kind == "" {
		kind = "committed"
	}
	f := c.checkBlockListRead(b, now)
	switch {
	case kind != "committed" && kind != "uncommitted" && kind != "all":
		return xmlform.Refuse(xmlform.InvalidParameter("blocklisttype", kind, "Invalid value"))
	case f != nil:
		return xmlform.Refuse(f)
	}
	header := http.Header{}
	if b.exists() {
		header = b.header()
		header.Set("x-ms-blob-content-length", strconv.FormatInt(b.content.size(), 10))
	}
	return &xmlform.Response{Status: http.StatusOK, Header: header, Body: b.blocksXML(kind)}
}

// checkBlockListRead checks the conditions and the lease ID of a request for the blocks of a blob,
// and its type.
func (c *call) checkBlockListRead(b *blob, now time.Time) *xmlform.Failure {
	var f *xmlform.Failure
	if b.exists() {
		f = c.checkRead(b, now)
	} else {
		f = b.lease.checkGiven(c.Header.Get("x-ms-lease-id"), now, blobLease)
	}
	if f == nil && b.kind != blockBlob {
		f = errWrongBlobType
	}
	return f
}

// listedBlock is an entry of a block list.
type listedBlock struct {
	from string // "Committed", "Uncommitted" or "Latest"
	id   string
}

// parseBlockList parses a list of blocks to commit.
func parseBlockList(body []byte) (list []listedBlock, f *xmlform.Failure) {
	var root struct {
		XMLName xml.Name `xml:"BlockList"`
		Blocks  []struct {
			XMLName xml.Name
			ID      string `xml:",chardata"`
		} `xml:",any"`
	}
	if f := xmlform.ParseDocument(body, &root); f != nil {
		return nil, f
	}
	if len(root.Blocks) > maxBlocks {
		return nil, errBlockListLength
	}
	for _, b := range root.Blocks {
		from := b.XMLName.Local
		if from != "Committed" && from != "Uncommitted" && from != "Latest" {
			return nil, xmlform.ErrDocument
		}
		if decoded, ok := decodeBlockID(b.ID); !ok || len(decoded) > maxBlockID {
			return nil, errBlockID
		}
		list = append(list, listedBlock{from, b.ID})
	}
	return list, nil
}

// blocksXML returns the blocks of a kind, "committed", "uncommitted" or "all", as the body of a
// response.
func (b *blob) blocksXML(kind string) []byte {
	var w bytes.Buffer
	w.WriteString(xmlform.Head + "<BlockList>")
	write := func(id string, block []byte) {
		w.WriteString("<Block>")
		xmlform.WriteElement(&w, "Name", id)
		xmlform.WriteElement(&w, "Size", strconv.Itoa(len(block)))
		w.WriteString("</Block>")
	}
	if kind != "uncommitted" {
		i := 0
		writeAll(&w, "CommittedBlocks", b.ids, func(id string) {
			write(id, b.content.blocks[i])
			i++
		})
	}
	if kind != "committed" {
		writeAll(&w, "UncommittedBlocks", slices.Sorted(maps.Keys(b.staged.blocks)), func(id string) {
			write(id, b.staged.blocks[id])
		})
	}
	w.WriteString("</BlockList>")
	return w.Bytes()
}
