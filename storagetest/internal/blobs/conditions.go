package blobs

import (
	"net/http"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// conditions are the conditional headers of a request. The zero value is no condition.
type conditions struct {
	match, noneMatch               string
	modifiedSince, unmodifiedSince time.Time
}

// parseConditions returns the conditions of the request.
func (c *call) parseConditions() (x conditions, f *xmlform.Failure) {
	if c.Header.Get("x-ms-if-tags") != "" {
		return x, xmlform.ErrNotImplemented
	}
	for name, etag := range map[string]*string{"If-Match": &x.match, "If-None-Match": &x.noneMatch} {
		*etag = strings.Join(c.Header.Values(name), ",")
	}
	for name, at := range map[string]*time.Time{"If-Modified-Since": &x.modifiedSince, "If-Unmodified-Since": &x.unmodifiedSince} {
		value := c.Header.Get(name)
		if value == "" {
			continue
		}
		var err error
		if *at, err = http.ParseTime(value); err != nil {
			return x, xmlform.InvalidHeader(name, value)
		}
	}
	return x, nil
}

// matches reports whether a condition names an ETag.
func matches(condition, etag string) bool {
	for name := range strings.SplitSeq(condition, ",") {
		if name = strings.TrimSpace(name); name == etag || name == "*" {
			return true
		}
	}
	return false
}

// whole returns a time as responses report it, in seconds.
func whole(t time.Time) time.Time { return t.Truncate(time.Second) }

// checkCombination checks the number of the conditions of a write. Only reads support several ETags.
func (x conditions) checkCombination() *xmlform.Failure {
	switch {
	case strings.Contains(x.match+x.noneMatch, ","),
		x.match != "" && (x.noneMatch != "" || !x.modifiedSince.IsZero()),
		x.noneMatch != "" && !x.unmodifiedSince.IsZero(),
		!x.modifiedSince.IsZero() && !x.unmodifiedSince.IsZero():
		return errConditions
	}
	return nil
}

// checkWrite checks the conditions of a write to an existing blob or container.
func (x conditions) checkWrite(etag string, modified time.Time) *xmlform.Failure {
	if f := x.checkCombination(); f != nil {
		return f
	}
	switch {
	case x.noneMatch != "" && matches(x.noneMatch, etag),
		x.match != "" && !matches(x.match, etag),
		x.noneMatch == "" && !x.modifiedSince.IsZero() && !whole(modified).After(x.modifiedSince),
		x.match == "" && !x.unmodifiedSince.IsZero() && whole(modified).After(x.unmodifiedSince):
		return errCondition
	}
	return nil
}

// checkRead checks the conditions of a read.
func (x conditions) checkRead(etag string, modified time.Time) *xmlform.Failure {
	if x.noneMatch == "*" {
		return errUnsatisfiable
	}
	same := x.noneMatch != "" && matches(x.noneMatch, etag)
	other := x.noneMatch != "" && !same
	newer := !x.modifiedSince.IsZero() && whole(modified).After(x.modifiedSince)
	older := !x.modifiedSince.IsZero() && !newer
	switch {
	case x.match != "" && !matches(x.match, etag),
		!x.unmodifiedSince.IsZero() && whole(modified).After(x.unmodifiedSince):
		return errCondition
	case same && !newer, older && !other:
		return errNotModified
	}
	return nil
}

// checkMissing checks the conditions of a request for a blob that does not exist.
func (x conditions) checkMissing(reads bool) *xmlform.Failure {
	switch {
	case x.match != "":
		return errCondition
	case reads && x.noneMatch == "*":
		return errUnsatisfiable
	}
	return nil
}
