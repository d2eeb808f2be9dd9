package engine

import (
	"fmt"
	"net/url"
	"strings"
)

// CheckClient returns an error for a client of a queue or container that is nil, or whose name the service refuses. A client that does
// not tell its address, such as one of a test, is not checked. Errors: *ValueError.
func CheckClient(argument, of string, client any, isNil bool) error {
	if isNil {
		return &ValueError{Field: argument, Reason: fmt.Sprintf("is nil; pass a client of the %s", of)}
	}
	name, known := ClientName(client)
	if !known {
		return nil
	}
	if !isName(name) && !(of == "container" && (name == "$root" || name == "$web")) {
		return &ValueError{Field: argument, Reason: fmt.Sprintf("has the name %.80q; the service requires 3 to 63 characters of a-z, 0-9 and single hyphens between them", name)}
	}
	return nil
}

// ClientName returns the name of the queue or container of a client, if the client tells its address.
func ClientName(client any) (name string, known bool) {
	c, is := client.(interface{ URL() string })
	if !is {
		return "", false
	}
	u, err := url.Parse(c.URL())
	if err != nil {
		return "", false // the SDK will say so
	}
	path := strings.TrimSuffix(u.Path, "/")
	return path[strings.LastIndex(path, "/")+1:], true
}

// isName reports whether a queue or container can have a name.
func isName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if hyphen := c == '-' && i > 0 && i < len(name)-1 && name[i-1] != '-'; !hyphen && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(name) >= 3 && len(name) <= 63
}
