// Package blobarchive stores the rows of package archive in the blobs of a container. A blob costs
// less than a row of a table, and any tool can read it.
//
//	var former = archive.Into[Employee]("former", blobarchive.New("former", nil))
//
//	staff := aztablekit.Table(company, "staff", dept, empid, former)
//
// Each entity has a blob of its own for each incarnation. Its name consists of the PartitionKey,
// the RowKey and the incarnation:
//
//	Sales/empid_000456/01KAJ5ZVW0ABCDEF.json
//
// The blob contains JSON: the keys, the kind and the operation IDs of the moves, the time of the
// row, and the row with the types of its properties, in the form of the Table service:
//
//	{"format":1,"partitionKey":"Sales","rowKey":"empid_000456","incarnation":"01KAJ5ZVW0ABCDEF","kind":"staff/archive",
//	"moves":["…"],"time":"2014-08-22T00:50:32Z","put":"…","row":{"PartitionKey":"Sales","RowKey":"empid_000456","LastName":"Jones",…}}
//
// In a name, a few characters of keys become ~ and two digits for each byte: characters with a
// meaning in addresses, and dots at an end. Different keys have different names.
//
// # Guarantees
//
//   - A row is stored only on condition of its stored version, the ETag of the blob, as
//     [archive.Destination] requires.
//   - After a lost response, the library sends the request again. If another version is stored
//     then, a read reports whether the first attempt has stored it.
//   - The row of Get is the row of Put: Int64, Double, Guid, Binary, and dates in steps of 100 ns.
//   - A blob that no destination of this package has stored is never read as a row, replaced or
//     deleted: see table.ErrForeignRow.
//
// # Not guaranteed
//
// If a concurrent writer replaces the row between a lost response and the next attempt, Put reports
// table.ErrChanged, although the row was stored for a moment.
//
// # Limits
//
// A name has at most 1,024 characters. Two keys of 512 characters each are too long, and so are
// shorter keys with many escaped characters. [archive.Mover].Archive reports this before it writes.
// Blobs in the service's archive tier cannot be read; hot, cool and cold are possible.
//
// # Costs
//
// Get and Put are 1 request each. Put is 2 if another version is stored, and 3 after a lost
// response. To list a partition is 1 request for each 1,000 blobs, and 1 for each row; to find an
// entity, 1 and 1 for each incarnation. Sweep is 1 request for each 1,000 blobs of the partition,
// and 2 for each tombstone that it deletes.
package blobarchive
