// Package transfer takes tables out and brings them back: backups, copies to another account, and
// comparisons.
//
//	at := transfer.Folder("backup/2026-11-28/staff") // or a Container
//	report, err := transfer.Export(ctx, staff, at, nil)
//	…
//	_, err = transfer.Import(ctx, transfer.Exported(at), staff, nil)
//	for difference, err := range transfer.Compare(ctx, transfer.Exported(at), transfer.Of(staff), nil) { … }
//
// An export contains the rows as they are stored, with all properties and types: the entities,
// their derived rows, and the rows of this library, which say what is due and which blobs entities
// link. So a table that is brought back needs no repair, if nothing was written during the export.
// A store has several tables; export all of them. [CopyBlobs] copies the blobs of large values
// along.
//
// [CSV] and [JSON] read files of other tools, and [WriteCSV] and [WriteJSON] write them.
//
// # Form
//
// A chunk is lines of JSON, compressed by gzip: a row each, as the service has it, with its
// Timestamp. A line of the manifest names each chunk, with its range of keys, its rows, its
// SHA-256, and the rows in it that a restore has to know of. A chunk without a line does not count.
//
// # Guarantees
//
//   - A row that exists, and is not written, from the beginning of an export to its end is in it
//     once.
//   - An export or import that has ended at any point is continued by calling it again, and calls
//     at the same time do no harm.
//   - Nothing of a chunk that was altered or cut by accident is imported.
//   - An import stores the properties of a row as they were, numbers to the last digit and times to
//     100 ns. The service gives rows new ETags and Timestamps.
//
// # Not guaranteed
//
// An export is not of one moment: rows of different pages may be minutes apart, also an entity and
// its derived rows. Store.Repair after an import makes the derived rows those of the entities. For
// a table with [Snapshots], the report and the manifest say which partitions are not of one moment;
// nothing shows that for several partitions.
//
// # Costs
//
// An export takes 1 request for each 1,000 rows, and an import 1 for each 100 rows of a partition.
// Memory: for each range that is read at the same time, a page and a compressed chunk; for an
// import, a compressed chunk and 1,000 rows, 3 MiB of each 100; and the manifest.
package transfer
