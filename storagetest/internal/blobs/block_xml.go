package blobs

import (
	"bytes"
	"encoding/xml"
	"maps"
	"slices"
	"strconv"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

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

// blocksXML returns the blocks of a kind, "committed", "uncommitted" or "all", as the body of a response.
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
