package edm

import (
	"fmt"
	"strconv"
	"strings"
)

// How many properties of a field with several are stored in one part. They are never changed: they determine where values are
// stored.
const (
	elementsPerPart = 200
	chunksPerPart   = 15 // of at most 64 KiB
)

// defaultChunks is the most chunks of a field: more than an entity can have.
const defaultChunks = 60

// mostElements is the greatest n of the option each=n.
func mostElements(placed bool) int {
	if placed {
		return (MaxPart + 1) * elementsPerPart
	}
	return 1000
}

// takePart takes the option part=n from the options of a field. placed reports that it is there.
func takePart(words []string) (left []string, part uint8, placed bool, err error) {
	for _, word := range words {
		number, is := strings.CutPrefix(word, "part=")
		if !is {
			left = append(left, word)
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > MaxPart || placed {
			return nil, 0, false, fmt.Errorf("part=%s: the option part occurs once, with the number of a part, 0 to %d", number, MaxPart)
		}
		part, placed = uint8(n), true
	}
	return left, part, placed, nil
}
