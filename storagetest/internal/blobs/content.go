package blobs

import "slices"

// span is a span of a blob: from, and before to.
type span struct{ from, to int64 }

func (s span) size() int64 { return s.to - s.from }

// content is the content of a blob, in blocks that never change.
type content struct {
	blocks [][]byte
	ends   []int64 // where each block ends in the blob
}

// size returns the number of bytes.
func (c *content) size() int64 {
	if len(c.ends) == 0 {
		return 0
	}
	return c.ends[len(c.ends)-1]
}

// append appends a block.
func (c *content) append(block []byte) {
	c.ends = append(c.ends, c.size()+int64(len(block)))
	c.blocks = append(c.blocks, block)
}

// read returns the bytes of a span. They are a copy, unless one block contains them all.
func (c *content) read(s span) []byte {
	i, _ := slices.BinarySearch(c.ends, s.from+1) // the first block that ends after from
	if i < len(c.ends) && s.to <= c.ends[i] {
		block := c.blocks[i]
		start := c.ends[i] - int64(len(block))
		return slices.Clip(block[s.from-start : s.to-start])
	}
	out := make([]byte, 0, s.size())
	for ; int64(len(out)) < s.size(); i++ {
		block := c.blocks[i]
		start := c.ends[i] - int64(len(block))
		out = append(out, block[max(0, s.from-start):min(int64(len(block)), s.to-start)]...)
	}
	return out
}
