package queues

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// call is a request to the Queue service.
type call struct {
	*protocol.Request
	store   *store
	options *Options
	refusal *failure // why the head of the request is invalid
}

// Accepted implements protocol.Call.
func (c *call) Accepted() bool { return c.refusal == nil }

// number returns a number in the query. The number must be between least and most.
func (c *call) number(name string, defaultValue, least, most int64) (int64, *failure) {
	if !c.Query.Has(name) {
		return defaultValue, nil
	}
	value := c.Query.Get(name)
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		return 0, invalidParameter(name, value, "Invalid value")
	case n < least || n > most:
		return 0, outOfRange(name, value, least, most)
	}
	return n, nil
}

var validMetadataName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// metadata returns the metadata in the x-ms-meta- headers, sorted by name. Names are stored in lower case.
func (c *call) metadata() (all []metadata, f *failure) {
	for name, values := range c.Header {
		key, ok := strings.CutPrefix(strings.ToLower(name), "x-ms-meta-")
		switch {
		case !ok:
			continue
		case key == "":
			return nil, errEmptyMetadataKey
		case !validMetadataName.MatchString(key):
			return nil, errMetadata
		}
		all = append(all, metadata{key, strings.TrimSpace(strings.Join(values, ","))})
	}
	slices.SortFunc(all, func(a, b metadata) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}
