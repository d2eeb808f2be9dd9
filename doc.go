// Package aztablekit is the root of typed helpers for the Azure Table storage design patterns, on the official Azure SDK.
// It holds no code. Import the package of what you need:
//
//   - keys: PartitionKeys and RowKeys that sort, stay apart and can be read back
//   - table: typed entities, queries and writes in one table
//   - index: secondary indexes, lists, details and summaries in the partition of their entities
//   - eventual: effects of writes outside their partition, executed by workers on a queue
//   - archive: moves of entities to another table, and back
//   - storagetest: the services in memory, for tests
//   - account: the SDK's clients for a storage account
//
// The folder patterns is the catalogue: one recipe for each pattern of the 'Azure Table storage table design guide', to run and to copy.
// The folder docs has pages that are too long for a package's tour.
package aztablekit
