package bloblog

import (
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
)

// metadata is what a writer stores with a blob. The names of the times are those of the service's own logs.
type metadata struct {
	writer      string    // the writer's ID and the number of the blob among those of the writer
	first, last time.Time // no record has an earlier or a later time; zero if that is not known
}

const (
	metaWriter = "Writer"
	metaFirst  = "StartTime"
	metaLast   = "EndTime"
)

func (m metadata) format() map[string]*string {
	all := map[string]*string{metaWriter: &m.writer, metaFirst: to.Ptr(m.first.Format(time.RFC3339Nano))}
	if !m.last.IsZero() {
		all[metaLast] = to.Ptr(m.last.Format(time.RFC3339Nano))
	}
	return all
}

// parseMetadata returns what metadata says. HTTP does not keep the case of names. An invalid time is ignored.
func parseMetadata(all map[string]*string) (m metadata) {
	for key, value := range all {
		switch {
		case value == nil:
		case strings.EqualFold(key, metaWriter):
			m.writer = *value
		case strings.EqualFold(key, metaFirst):
			m.first, _ = time.Parse(time.RFC3339Nano, *value)
		case strings.EqualFold(key, metaLast):
			m.last, _ = time.Parse(time.RFC3339Nano, *value)
		}
	}
	return m
}

// overlaps reports whether a blob can have a record with from ≤ time < to. Other programs store times in whole seconds.
func (m metadata) overlaps(from, to time.Time) bool {
	return m.first.Before(to) && (m.last.IsZero() || m.last.Add(time.Second).After(from))
}
