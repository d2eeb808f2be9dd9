package xmlform

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Number returns a number in a query. The number must be between least and most.
func Number(query url.Values, name string, defaultValue, least, most int64) (int64, *Failure) {
	if !query.Has(name) {
		return defaultValue, nil
	}
	value := query.Get(name)
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		return 0, InvalidParameter(name, value, "Invalid value")
	case n < least || n > most:
		return 0, OutOfRange(name, value, least, most)
	}
	return n, nil
}

// Includes reports whether the parameter include of a query contains a word.
func Includes(query url.Values, word string) bool {
	return slices.Contains(strings.Split(query.Get("include"), ","), word)
}

// WriteParameters writes the parameters of a query for a list that are not empty. The names of the elements are those of the
// parameters.
func WriteParameters(b *bytes.Buffer, query url.Values, elements ...string) {
	for _, element := range elements {
		if value := query.Get(strings.ToLower(element)); value != "" {
			WriteElement(b, element, value)
		}
	}
}
