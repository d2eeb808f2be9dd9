package bloblog

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// name is the name of a blob: its source, the hour of its records, and a number that is unique in the hour, as in
// source/2014/07/31/1800/000001.log.
type name struct {
	source string
	hour   time.Time // in UTC
	number int
}

const (
	hourLayout = "2006/01/02/1504"
	maxNumber  = 999_999
)

func (n name) String() string { return fmt.Sprintf("%s%06d.log", n.prefix(), n.number) }

// prefix returns what the names of all blobs of the hour begin with.
func (n name) prefix() string { return n.source + "/" + n.hour.Format(hourLayout) + "/" }

// parseName returns what the name of a blob says, and whether it is the name of a log's blob. The part after the source has a fixed
// length, so that a name belongs to one source: a/2014/07/31/1800/000001.log is of source a, and no blob of source a/2014.
func parseName(text string) (n name, is bool) {
	at := len(text) - nameLength
	if at < 1 {
		return n, false
	}
	n.source = text[:at]
	hour, rest := text[at+1:at+1+len(hourLayout)], text[at+1+len(hourLayout):]
	t, err := time.Parse(hourLayout, hour)
	if err != nil || t.Minute() != 0 || t.Year() < 1 {
		return n, false
	}
	number, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSuffix(rest, ".log"), "/"))
	if err != nil || number < 0 { // writers begin with 1, other programs with 0
		return n, false
	}
	n.hour, n.number = t, number
	return n, n.String() == text && checkSource(n.source) == nil
}

// hourOf returns the hour of a time, in UTC.
func hourOf(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }
