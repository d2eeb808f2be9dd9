package blobs

import (
	"net/url"
	"strings"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// rootContainer contains the blobs whose address has no container.
const rootContainer = "$root"

// address is what a path addresses: the account, a container, or a blob.
type address struct{ container, blob string }

// parseAddress parses a path: /, /logs, /logs/a/b.txt. A path of one segment is a container if the query says so, and otherwise a
// blob of the root container.
func parseAddress(path string, query url.Values) (a address, f *xmlform.Failure) {
	container, blob, nested := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	for _, s := range []*string{&container, &blob} {
		var err error
		if *s, err = url.PathUnescape(*s); err != nil {
			return a, xmlform.ErrURI
		}
	}
	blob = strings.ReplaceAll(blob, `\`, "/")
	switch {
	case query.Get("restype") == "container" && blob != "":
		return a, xmlform.ErrURI
	case container != "" && !nested && !query.Has("restype"):
		return address{rootContainer, container}, nil
	}
	return address{container, blob}, nil
}

// checkContainerName checks the name of a container.
func checkContainerName(name string) *xmlform.Failure {
	if name == rootContainer || name == "$web" || name == "$logs" {
		return nil
	}
	return xmlform.CheckName(name)
}

// The limits of a blob's name.
const (
	maxBlobName     = 1024 // in UTF-16 units
	maxBlobSegments = 254
)

// checkBlobName checks the name of a blob.
func checkBlobName(name string) *xmlform.Failure {
	if len(utf16.Encode([]rune(name))) > maxBlobName || strings.Count(name, "/") >= maxBlobSegments {
		return xmlform.ErrNameLength
	}
	return nil
}
