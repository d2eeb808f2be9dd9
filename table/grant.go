package table

import (
	"fmt"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Grant is what a shared access signature allows: some operations on the rows of one table, or of a range of keys, for some
// time. It is how each user gets access to her own entities and no others ('Create a service SAS').
//
// What a range does, and does not do:
//
//   - Queries are cut to the range without a word, and a Get outside it finds nothing. So what is counted, verified or
//     repaired by its holder is only what the range holds.
//   - Writes outside it are refused.
//   - A transaction is refused as a whole if any of its rows is outside. A table that keeps further rows in an entity's
//     partition, such as secondary indexes, copies or commit records, can be written by a holder only if the grant is for the whole
//     partition, not for a range of rows in it.
//   - A range of rows needs a single partition: the service goes by the order of both keys together, so that between two
//     partitions every row would be in the range.
//
// A holder who may not read cannot look whether a row that exists, or has changed, is its own work, done by a request that
// arrived twice; it is told that it was refused.
//
// Anybody who has the signature has the grant until it expires, or the account key is renewed, or the stored policy is
// withdrawn.
type Grant struct {
	Table string

	// Read, Add, Update and Delete are what is allowed. Upserts need Add and Update.
	Read, Add, Update, Delete bool

	// Partitions and Rows are what it is allowed for; unset is everything. Rows needs a single partition.
	Partitions, Rows keys.Range

	// Start and Expiry are when, to the second. The zero Start is at once; clocks differ by minutes, so it is best left
	// out. Expiry must be given, here or in the policy.
	Start, Expiry time.Time

	// AllowHTTP lets the signature travel unencrypted: for emulators.
	AllowHTTP bool

	// Policy names a stored access policy of the table, which says whatever is left out here, and can be withdrawn.
	Policy string
}

// Sign makes the signature, in the form of a URL's query: sv=…&sig=…. It sends nothing. account's TableSAS makes the whole
// URL of it. Errors are a *ValueError for a grant that allows nothing or never, and a *keys.KeyError for a range that
// cannot be granted.
func (g Grant) Sign(cred *aztables.SharedKeyCredential) (string, error) {
	v, bounds, err := g.values()
	if err == nil && cred == nil {
		err = &ValueError{Field: "credential", Reason: "is nil"}
	}
	if err != nil {
		return "", fmt.Errorf("table: Grant on %s: %w", g.Table, err)
	}
	signed, err := v.Sign(cred)
	if err != nil {
		return "", fmt.Errorf("table: Grant on %s: the SDK cannot sign it", g.Table) // its text is not trusted to keep the key
	}
	query, err := url.ParseQuery(signed)
	if err != nil {
		return "", fmt.Errorf("table: Grant on %s: the SDK's signature cannot be read", g.Table)
	}
	// The SDK signs the range but does not say it.
	for name, value := range bounds {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query.Encode(), nil
}

// values checks the grant and puts it in the SDK's words.
func (g Grant) values() (v aztables.SASSignatureValues, bounds map[string]string, err error) {
	fail := func(field, reason string) (aztables.SASSignatureValues, map[string]string, error) {
		return v, nil, &ValueError{Field: "Grant." + field, Reason: reason}
	}
	may := aztables.SASPermissions{Read: g.Read, Add: g.Add, Update: g.Update, Delete: g.Delete}
	v = aztables.SASSignatureValues{
		TableName: g.Table, Permissions: may.String(), Identifier: g.Policy, Protocol: aztables.SASProtocolHTTPS,
		StartTime: second(g.Start), ExpiryTime: second(g.Expiry),
	}
	if g.AllowHTTP {
		v.Protocol = aztables.SASProtocolHTTPSandHTTP
	}
	switch err := checkTableName(g.Table); {
	case err != nil:
		return v, nil, err
	case v.Permissions == "" && g.Policy == "":
		return fail("Read", "nothing is allowed: set Read, Add, Update or Delete, or name a Policy")
	case g.Expiry.IsZero() && g.Policy == "":
		return fail("Expiry", "is not set; give it, or name a Policy that has one")
	case !g.Expiry.IsZero() && !v.StartTime.Before(v.ExpiryTime):
		return fail("Expiry", "is not a second after Start")
	}
	if err := g.bound(&v); err != nil {
		return v, nil, err
	}
	return v, map[string]string{"spk": v.StartPartitionKey, "srk": v.StartRowKey, "epk": v.EndPartitionKey, "erk": v.EndRowKey}, nil
}

// bound puts the ranges in the SDK's words.
func (g Grant) bound(v *aztables.SASSignatureValues) (err error) {
	if g.Partitions.IsSet() {
		if v.StartPartitionKey, v.EndPartitionKey, err = g.Partitions.Inclusive(); err != nil {
			return inKey(edm.PartitionKey, err)
		}
	}
	if !g.Rows.IsSet() {
		return nil
	}
	if !g.Partitions.IsPoint() {
		return &ValueError{Field: "Grant.Rows", Reason: "is a range of rows, which needs a single partition; set Partitions to keys.Point(partition)"}
	}
	v.StartRowKey, v.EndRowKey, err = g.Rows.Inclusive()
	return inKey(edm.RowKey, err)
}

// inKey says of which key an error speaks.
func inKey(key string, err error) error {
	if ke, ok := err.(*keys.KeyError); ok {
		c := *ke
		c.Key = key
		return &c
	}
	return err
}

// second is a time as a signature holds it: in UTC, for the SDK writes the local clock's reading with a Z.
func second(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}
