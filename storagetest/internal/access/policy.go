package access

import (
	"bytes"
	"encoding/xml"
	"slices"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
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

// ParsePolicies parses an XML document. An empty body has no policies. permissions are the letters
// of the permissions that the service has, in their order.
func ParsePolicies(body []byte, permissions string) (all Policies, fault *protocol.DocumentFault) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))) == 0 {
		return nil, nil
	}
	root, fault := protocol.ParseDocument(body)
	if fault != nil {
		return nil, fault
	}
	if root.Name != "SignedIdentifiers" || len(root.Children) > maxPolicies {
		return nil, &protocol.DocumentFault{}
	}
	for _, e := range root.Children {
		p := policy{ID: e.ChildText("Id")}
		if p.ID == "" || len(p.ID) > maxPolicyID {
			return nil, e.Next.Fault("Signed identifier ID cannot be empty or over 64 characters in length")
		}
		if a := e.Child("AccessPolicy"); a != nil {
			var startOK, endOK bool
			p.Permission = a.ChildText("Permission")
			p.Start, startOK = normalTime(a.ChildText("Start"))
			p.Expiry, endOK = normalTime(a.ChildText("Expiry"))
			if !startOK || !endOK || !protocol.IsOrdered(p.Permission, permissions) {
				return nil, &protocol.DocumentFault{}
			}
		}
		if _, twice := all.find(p.ID); twice || e.Name != "SignedIdentifier" {
			return nil, &protocol.DocumentFault{}
		}
		all = append(all, p)
	}
	return all, nil
}

// XML returns the policies as an XML document.
func (all Policies) XML() []byte {
	const head = "\ufeff" + `<?xml version="1.0" encoding="utf-8"?>`
	if len(all) == 0 {
		return []byte(head + "<SignedIdentifiers />")
	}
	var d document
	for _, p := range all {
		i := identifier{ID: p.ID}
		if p.Start+p.Expiry+p.Permission != "" {
			i.Policy = &policyElement{p.Start, p.Expiry, p.Permission}
		}
		d.Identifiers = append(d.Identifiers, i)
	}
	b, _ := xml.Marshal(d) // strings alone
	return append([]byte(head), b...)
}
