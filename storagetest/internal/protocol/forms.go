package protocol

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// versions are the published versions of the services, oldest first.
var versions = []string{
	"2009-04-14", "2009-07-17", "2009-09-19", "2011-08-18", "2012-02-12", "2013-08-15", "2014-02-14", "2015-02-21",
	"2015-04-05", "2015-07-08", "2015-12-11", "2016-05-31", "2017-04-17", "2017-07-29", "2017-11-09", "2018-03-28",
	"2018-11-09", "2019-02-02", "2019-07-07", "2019-10-10", "2019-12-12", "2020-02-10", "2020-04-08", "2020-06-12",
	"2020-08-04", "2020-10-02", "2020-12-06", "2021-02-12", "2021-04-10", "2021-06-08", "2021-08-06", "2021-10-04",
	"2021-12-02", "2022-11-02", "2023-01-03", "2023-05-03", "2023-08-03", "2023-11-03", "2024-02-04", "2024-05-04",
	"2024-08-04", "2024-11-04", "2025-01-05", "2025-05-05", "2025-07-05", "2025-11-05", "2026-02-06", "2026-04-06",
	"2026-06-06", "2026-10-06", "2026-12-06",
}

// IsVersion reports whether a version of the services is published.
func IsVersion(s string) bool {
	_, found := slices.BinarySearch(versions, s)
	return found
}

// IsOrdered reports whether permissions are letters of known, each once and in the order of known.
func IsOrdered(permissions, known string) bool {
	for _, letter := range permissions {
		i := strings.IndexRune(known, letter)
		if i < 0 {
			return false
		}
		known = known[i+1:]
	}
	return true
}

// DecodeBase64 decodes base64. The bits that a last digit has too many may be set.
func DecodeBase64(s string) ([]byte, bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	return b, err == nil
}

// guid matches the forms of a GUID: 32 digits, with hyphens, in braces, in parentheses, and as
// hexadecimal numbers.
var (
	guid         = regexp.MustCompile(`^(?:[0-9a-f]{32}|(\(|\{)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(\)|\})?)$`)
	guidNumbers  = regexp.MustCompile(`^\{0x[0-9a-f]{1,8}(?:,0x[0-9a-f]{1,4}){2},\{0x[0-9a-f]{1,2}(?:,0x[0-9a-f]{1,2}){7}\}\}$`)
	hexadecimals = regexp.MustCompile(`0x([0-9a-f]+)`)
	notInGUID    = strings.NewReplacer("-", "", "{", "", "}", "", "(", "", ")", "")
)

// ParseGUID returns a GUID of any form as digits in lower case with hyphens.
func ParseGUID(s string) (id string, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	digits := ""
	switch m := guid.FindStringSubmatch(s); {
	case m != nil && (m[1] == "{") == (m[2] == "}") && (m[1] == "(") == (m[2] == ")"):
		digits = notInGUID.Replace(s)
	case guidNumbers.MatchString(s):
		widths := []int{8, 4, 4, 2, 2, 2, 2, 2, 2, 2, 2}
		for i, number := range hexadecimals.FindAllStringSubmatch(s, -1) {
			digits += strings.Repeat("0", widths[i]-len(number[1])) + number[1]
		}
	default:
		return "", false
	}
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:], true
}
