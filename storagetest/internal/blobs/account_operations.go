package blobs

import (
	"net/http"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// accountInformation returns the kind of the account. Clients can ask for it at the address of the account, of a container or of a blob.
func (c *call) accountInformation(now time.Time) *xmlform.Response {
	if !c.reads() {
		return xmlform.Refuse(xmlform.ErrMethod)
	}
	if f := c.rights.Check(access.Need{Permissions: []string{""}, Account: true}, nil, now); f != nil {
		return xmlform.Refuse(&xmlform.Failure{Failure: *f})
	}
	h := http.Header{}
	h.Set("x-ms-sku-name", "Standard_RAGRS")
	h.Set("x-ms-account-kind", "StorageV2")
	h.Set("x-ms-is-hns-enabled", "false")
	return &xmlform.Response{Status: http.StatusOK, Header: h}
}
