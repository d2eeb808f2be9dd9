package table_test

import (
	"fmt"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// A user may read her own partition until noon. TableSAS of package account returns the whole URL.
func ExampleGrant() {
	cred, err := aztables.NewSharedKeyCredential("name", "c2VjcmV0LWtleQ==")
	check(err)
	user := keys.Tuple1(keys.Text())
	query, err := table.Grant{
		Table:      "settings",
		Read:       true,
		Partitions: keys.Point(user.Of("jonesj@contoso.com")),
		Expiry:     time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	}.Sign(cred)
	check(err)
	q, err := url.ParseQuery(query)
	check(err)
	fmt.Println(q.Get("tn"), q.Get("sp"), q.Get("se"), q.Get("spk"), q.Get("epk"))
	// Output: settings r 2026-11-21T12:00:00Z jonesj@contoso.com jonesj@contoso.com
}
