package access

import (
	"bytes"
	"encoding/xml"
	"slices"
)

// Policies are the stored access policies of a resource.
type Policies []policy

// maxPolicies is the number of policies that a resource can have.
const maxPolicies = 5

// maxPolicyID is the length of the ID of a policy.
const maxPolicyID = 64

type policy struct {
	ID                        string
	Start, Expiry, Permission string
}

func (all Policies) find(id string) (policy, bool) {
	i := slices.IndexFunc(all, func(p policy) bool { return p.ID == id })
	if i < 0 {
		return policy{}, false
	}
	return all[i], true
}

// document is the XML document of policies.
type document struct {
	XMLName     xml.Name     `xml:"SignedIdentifiers"`
	Identifiers []identifier `xml:"SignedIdentifier"`
}

type identifier struct {
	ID     string         `xml:"Id"`
	Policy *policyElement `xml:"AccessPolicy"`
}

type policyElement struct {
	Start      string `xml:",omitempty"`
	Expiry     string `xml:",omitempty"`
	Permission string `xml:",omitempty"`
}

// ParsePolicies parses an XML document. An empty body has no policies.
func ParsePolicies(body []byte) (all Policies, ok bool) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, true
	}
	var d document
	decoder := xml.NewDecoder(bytes.NewReader(body))
	if decoder.Decode(&d) != nil || len(bytes.TrimSpace(body[decoder.InputOffset():])) > 0 || len(d.Identifiers) > maxPolicies {
		return nil, false
	}
	for _, i := range d.Identifiers {
		p := policy{ID: i.ID}
		if i.Policy != nil {
			var startOK, endOK bool
			p.Permission = i.Policy.Permission
			p.Start, startOK = normalTime(i.Policy.Start)
			p.Expiry, endOK = normalTime(i.Policy.Expiry)
			if !startOK || !endOK {
				return nil, false
			}
		}
		if _, twice := all.find(p.ID); twice || p.ID == "" || len(p.ID) > maxPolicyID {
			return nil, false
		}
		all = append(all, p)
	}
	return all, true
}

// XML returns the policies as an XML document.
func (all Policies) XML() []byte {
	var d document
	for _, p := range all {
		i := identifier{ID: p.ID}
		if p.Start+p.Expiry+p.Permission != "" {
			i.Policy = &policyElement{p.Start, p.Expiry, p.Permission}
		}
		d.Identifiers = append(d.Identifiers, i)
	}
	b, _ := xml.Marshal(d) // strings alone
	return append([]byte("\ufeff"+`<?xml version="1.0" encoding="utf-8"?>`), b...)
}
