package account

import (
	"fmt"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Grant defines a shared access signature for one table: the allowed operations, the range of keys
// and the period. With a grant, each user can access only her own entities (service documentation:
// 'Create a service SAS'). [Account.TableSAS] returns the URL of a grant.
//
// A range has these effects:
//
//   - A query returns only the rows in the range, without an error, and a Get outside the range
//     fails with table.ErrNotFound. So the holder counts, verifies and repairs only the rows in the
//     range.
//   - The service refuses writes outside the range.
//   - The service refuses a transaction if any of its rows is outside the range. Some tables keep
//     further rows in an entity's partition: secondary indexes, copies or commit records. To write
//     such a table, the holder needs a grant for the whole partition, not for a range of its rows.
//   - A range of rows requires a single partition. The service compares both keys together, so
//     across two partitions it would allow every row between the first key and the last.
//
// Limitation: a holder without Read cannot read a row back. If the network delivers a request
// twice, the write is reported as refused although it was applied.
//
// Every holder of the signature has the grant until the signature expires, the account key is
// renewed, or the stored access policy is withdrawn.
type Grant struct {
	Table string

	// Read, Add, Update and Delete are the allowed operations. An upsert requires Add and Update.
	Read, Add, Update, Delete bool

	// Partitions and Rows are the range of keys. An unset range contains every key. Rows requires a
	// single partition.
	Partitions keys.PartitionRange
	Rows       keys.RowRange

	// Start and Expiry are the period, in whole seconds. With the zero Start, the period begins at
	// once. Clocks differ by minutes, so leave Start out if possible. Expiry is required, here or
	// in the policy.
	Start, Expiry time.Time

	// AllowHTTP also allows unencrypted requests. Set it for emulators.
	AllowHTTP bool

	// Policy names a stored access policy of the table. The policy contains the settings that are
	// left out here, and can be withdrawn.
	Policy string
}

// Sign returns the signature as the query of a URL: sv=…&sig=…. [Account.TableSAS] returns the
// whole URL. Errors: *table.ValueError for a grant without an operation or a period, and for an
// invalid table name; *table.LimitError for the length of the table name; *keys.KeyError for a
// range that no signature can have. Requests: none.
func (g Grant) Sign(cred *aztables.SharedKeyCredential) (string, error) {
	v, bounds, err := g.values()
	if err == nil && cred == nil {
		err = &table.ValueError{Field: "credential", Reason: "is nil"}
	}
	if err != nil {
		return "", fmt.Errorf("account: Grant on %s: %w", g.Table, err)
	}
	signed, err := v.Sign(cred)
	if err != nil {
		return "", fmt.Errorf("account: Grant on %s: the SDK cannot sign it", g.Table) // the SDK's text may contain the key
	}
	query, err := url.ParseQuery(signed)
	if err != nil {
		return "", fmt.Errorf("account: Grant on %s: the SDK's signature cannot be read", g.Table)
	}
	// The SDK signs the range, but leaves it out of the URL.
	for name, value := range bounds {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query.Encode(), nil
}

// values checks the grant. It returns the SDK's values, and the bounds of the range as parameters
// of the URL.
func (g Grant) values() (v aztables.SASSignatureValues, bounds map[string]string, err error) {
	fail := func(field, reason string) (aztables.SASSignatureValues, map[string]string, error) {
		return v, nil, &table.ValueError{Field: "Grant." + field, Reason: reason}
	}
	may := aztables.SASPermissions{Read: g.Read, Add: g.Add, Update: g.Update, Delete: g.Delete}
	v = aztables.SASSignatureValues{
		TableName: g.Table, Permissions: may.String(), Identifier: g.Policy, Protocol: aztables.SASProtocolHTTPS,
		StartTime: second(g.Start), ExpiryTime: second(g.Expiry),
	}
	if g.AllowHTTP {
		v.Protocol = aztables.SASProtocolHTTPSandHTTP
	}
	switch err := edm.CheckTableName(g.Table); {
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

// bound sets the bounds of the range in the SDK's values.
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
		return &table.ValueError{Field: "Grant.Rows", Reason: "is a range of rows, which needs a single partition; set Partitions to the Point of a PartitionKey"}
	}
	v.StartRowKey, v.EndRowKey, err = g.Rows.Inclusive()
	return inKey(edm.RowKey, err)
}

// inKey sets the name of the key in an error.
func inKey(key string, err error) error {
	if ke, ok := err.(*keys.KeyError); ok {
		c := *ke
		c.Key = key
		return &c
	}
	return err
}

// second returns a time in UTC, in whole seconds. The SDK writes the local time with a Z.
func second(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}
