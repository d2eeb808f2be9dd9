package tables

import (
	"iter"
	"slices"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// maxBlock is the most items in a block of a sorted list.
const maxBlock = 512

// sorted is a list of items in the service's order of their keys. Reads and changes of one item take about the same time in long and
// in short lists. The zero value is an empty list.
type sorted[T keyed] struct {
	blocks [][]T // none is empty
}

type keyed interface{ sortKey() string }

func compareKey[T keyed](item T, key string) int { return odata.CompareText(item.sortKey(), key) }

// place returns the block and the index of an item, or where to insert it.
func (l *sorted[T]) place(key string) (block, i int, found bool) {
	block, found = slices.BinarySearchFunc(l.blocks, key, func(b []T, key string) int { return compareKey(b[0], key) })
	if found || block == 0 {
		return block, 0, found
	}
	block--
	i, found = slices.BinarySearchFunc(l.blocks[block], key, compareKey[T])
	return block, i, found
}

// get returns an item.
func (l *sorted[T]) get(key string) (item T, found bool) {
	b, i, found := l.place(key)
	if found {
		item = l.blocks[b][i]
	}
	return item, found
}

// put inserts an item, or replaces the item with the same key.
func (l *sorted[T]) put(item T) {
	b, i, found := l.place(item.sortKey())
	switch {
	case found:
		l.blocks[b][i] = item
		return
	case len(l.blocks) == 0:
		l.blocks = [][]T{{item}}
		return
	}
	l.blocks[b] = slices.Insert(l.blocks[b], i, item)
	if block := l.blocks[b]; len(block) > maxBlock {
		half := len(block) / 2
		l.blocks = slices.Insert(l.blocks, b+1, slices.Clone(block[half:]))
		clear(block[half:])
		l.blocks[b] = block[:half:half]
	}
}

// remove removes an item.
func (l *sorted[T]) remove(key string) {
	b, i, found := l.place(key)
	if !found {
		return
	}
	if l.blocks[b] = slices.Delete(l.blocks[b], i, i+1); len(l.blocks[b]) == 0 {
		l.blocks = slices.Delete(l.blocks, b, b+1)
	}
}

// from returns the items whose keys are not below a key.
func (l *sorted[T]) from(key string) iter.Seq[T] {
	return func(yield func(T) bool) {
		b, i, _ := l.place(key)
		for ; b < len(l.blocks); b, i = b+1, 0 {
			for _, item := range l.blocks[b][i:] {
				if !yield(item) {
					return
				}
			}
		}
	}
}

// empty reports whether the list has no items.
func (l *sorted[T]) empty() bool { return len(l.blocks) == 0 }
