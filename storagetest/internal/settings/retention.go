package settings

import "encoding/xml"

// maxRetention is the number of days for which a service can retain what it records or deletes.
const maxRetention = 365

// retention says for how long a service retains what it records or deletes.
type retention struct {
	Enabled *bool
	Days    *int
}

// validRetention reports whether the retention in a property, or the property itself, is valid.
func validRetention(name, content string) bool {
	if name == "DeleteRetentionPolicy" {
		var r retention
		return xml.Unmarshal([]byte("<P>"+content+"</P>"), &r) == nil && r.valid()
	}
	var within struct{ RetentionPolicy *retention }
	return xml.Unmarshal([]byte("<P>"+content+"</P>"), &within) == nil && (within.RetentionPolicy == nil || within.RetentionPolicy.valid())
}

func (r *retention) valid() bool {
	switch {
	case r.Enabled == nil:
		return false
	case *r.Enabled:
		return r.Days != nil && *r.Days >= 1 && *r.Days <= maxRetention
	}
	return true
}
