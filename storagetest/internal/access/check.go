package access

import (
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// Need is what an operation needs: the type of its resource, s for a service, c for a container, a
// queue or a table, and o for what is in it, and all letters of one of the permissions.
type Need struct {
	Type        string
	Permissions []string
	Account     bool // only a signature for the account permits the operation
}

// Valid checks that the rights are valid at a time. policies are the policies of the resource. Nil
// rights are all rights.
func (s *Rights) Valid(policies Policies, now time.Time) *protocol.Failure {
	if s == nil {
		return nil
	}
	if _, ok := s.resolve(policies, now); !ok {
		return &protocol.AuthenticationFailed
	}
	return nil
}

// Check checks that the rights are valid at a time and contain a need.
func (s *Rights) Check(n Need, policies Policies, now time.Time) *protocol.Failure {
	if s == nil {
		return nil
	}
	permissions, ok := s.resolve(policies, now)
	switch {
	case !ok:
		return &protocol.AuthenticationFailed
	case n.Account && !s.account:
		return &Unauthorized
	case s.account && !strings.Contains(s.types, n.Type):
		return &errType
	}
	for _, all := range n.Permissions {
		if contains(permissions, all) {
			return nil
		}
	}
	return &errPermission
}

func contains(permissions, all string) bool {
	for _, letter := range all {
		if !strings.ContainsRune(permissions, letter) {
			return false
		}
	}
	return true
}

// resolve returns the permissions of the signature and its policy, and whether they are valid at a
// time. The two must not say the same thing.
func (s *Rights) resolve(policies Policies, now time.Time) (permissions string, valid bool) {
	p := policy{Permission: s.permissions, Start: s.start, Expiry: s.end}
	if s.policy != "" {
		stored, ok := policies.find(s.policy)
		if !ok || !fill(&p.Permission, stored.Permission) || !fill(&p.Start, stored.Start) || !fill(&p.Expiry, stored.Expiry) {
			return "", false
		}
	}
	start, startOK := parseTime(p.Start)
	end, endOK := parseTime(p.Expiry)
	return p.Permission, (p.Start == "" || startOK && !now.Before(start)) && endOK && now.Before(end)
}

// fill sets a text that is empty. It reports whether one of both was empty.
func fill(s *string, stored string) bool {
	if stored == "" {
		return true
	}
	if *s != "" {
		return false
	}
	*s = stored
	return true
}
