// Package aztablekit is the root of a library of typed helpers for the Azure Table storage design patterns, on the official Azure
// SDK. It contains no code. Import the packages that you need:
//
//   - keys: layouts for PartitionKeys and RowKeys that sort like their values and can be parsed
//   - table: typed entities, queries, writes and streams of writes in one table
//   - index: secondary indexes, lists, details and summaries in the partition of their entities
//   - verify: comparison and repair of derived rows and views
//   - requests: the kinds of requests, and a counter of them
//   - extend: for authors of definitions: rows and effects that follow from entities, and the commit records of writes
//   - eventual: effects of writes outside their partition, executed by workers on a queue
//   - materialized: tables of entities that are derived from those of another table
//   - archive: moves of entities to another table, and back
//   - archive/blobarchive: archived entities in blobs
//   - largeentity: values of any size in blobs, with their entities
//   - largeentity/series: a number for each slot of time, many to an entity
//   - logtail: logs whose newest records come first, also with a table for each day
//   - logtail/bloblog: logs as lines in append blobs
//   - storagetest: the Table, Queue and Blob services in memory, for tests
//   - storagetest/crashtest: tests of programs that crash at any request
//   - account: the SDK's clients for a storage account
//
// The folder patterns is the catalogue: one recipe for each pattern of the 'Azure Table storage table design guide', to run and to
// copy. The folder docs contains longer pages: docs/design.md says why the library is as it is, docs/protocols.md draws the protocols and
// what goes wrong without each part, and docs/glossary.md defines the terms and the names of stored rows and properties.
package aztablekit
