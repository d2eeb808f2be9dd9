package tables

import (
	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

// permits returns the failure of an operation on entities that the grant does not permit: all letters of one of the permissions are
// needed.
func (c *call) permits(permissions ...string) *odata.Failure {
	return c.check(access.Need{Type: "o", Permissions: permissions})
}

// check returns the failure of an operation that the grant does not permit.
func (c *call) check(n access.Need) *odata.Failure {
	if c.grant == nil {
		return nil
	}
	if f := c.grant.Check(n, c.policies(), c.now); f != nil {
		return refusalOf(f)
	}
	return nil
}

// valid returns the failure of a grant that is not valid at the time of the execution.
func (c *call) valid() *odata.Failure {
	if c.grant == nil {
		return nil
	}
	if f := c.grant.Valid(c.policies(), c.now); f != nil {
		return refusalOf(f)
	}
	return nil
}

// policies returns the stored access policies of the table of the grant.
func (c *call) policies() access.Policies {
	if t := c.store.table(c.grant.table); t != nil {
		return t.policies
	}
	return nil
}
