package access

import "time"

// parseTime parses a time of a signature or of a policy.
func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// normalTime returns a time in the form in which policies are stored. An empty text stays empty.
func normalTime(s string) (string, bool) {
	t, ok := parseTime(s)
	if s == "" || !ok {
		return "", s == ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.0000000Z"), true
}
