package xmlform

import "regexp"

var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// CheckName checks the name of a queue or of a container.
func CheckName(name string) *Failure {
	switch {
	case len(name) < 3 || len(name) > 63:
		return ErrNameLength
	case !validName.MatchString(name):
		return ErrName
	}
	return nil
}
