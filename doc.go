// Package aztablekit declares the tables of a program on Azure Table storage, with everything that
// follows from their entities: indexes, summaries, effects, views, large values. A [Store] creates
// what they need, and its worker executes what is due.
//
//	type Employee struct {
//		Department      string
//		ID              int
//		LastName, Email string
//	}
//
//	var (
//		dept    = keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
//		empid   = keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
//		byEmail = index.NewUnique("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) {
//			return e.Email, e.Email != ""
//		}, nil)
//	)
//
//	company := aztablekit.Open(acc, "company", nil) // acc of account.FromEnvironment, or storagetest.New(nil) in tests
//	staff := aztablekit.Table(company, "staff", dept, empid, byEmail)
//	if err := company.Ensure(ctx); err != nil { // creates what does not exist; returns mistakes in the declarations
//		return err
//	}
//	ended := make(chan error, 1)
//	go func() { ended <- company.Run(ctx) }() // the worker, in this program or in another one, until ctx ends
//
//	_, err := staff.Insert(ctx, &Employee{Department: "Sales", ID: 223, LastName: "Jones", Email: "JonesJ@contoso.com"})
//	jones, err := byEmail.Get(ctx, staff, "jonesj@contoso.com")
//
// All programs that write a table declare the same definitions. A program that only reads calls
// neither Ensure nor Run. Tests open the store on a [storagetest.Service], which is a storage
// account in memory.
//
// # Packages
//
//   - keys: layouts for PartitionKeys and RowKeys that sort like their values and can be parsed
//   - table: typed entities, queries, writes and streams of writes in one table
//   - index: secondary indexes, lists, details and summaries in the partition of their entities
//   - eventual: effects of writes outside their partition, executed by workers on a queue
//   - materialized: tables of entities that are derived from those of another table
//   - archive: moves of entities to another table, and back
//   - archive/blobarchive: archived entities in blobs
//   - largeentity: values of any size in blobs, with their entities
//   - largeentity/series: a number for each slot of time, many to an entity
//   - txn: serializable transactions over partitions and tables
//   - lease: leases that storage fences: one program at a time, and no writes of those before
//   - logtail: logs whose newest records come first, also with a table for each day
//   - logtail/bloblog: logs as lines in append blobs
//   - transfer: exports, imports and comparisons of tables
//   - azt: the command azt, for operators
//   - account: the SDK's clients for a storage account
//   - storagetest: the Table, Queue and Blob services in memory, for tests
//   - storagetest/crashtest: tests of programs that crash at any request
//   - requests: the kinds of requests, and a counter of them
//   - jobs: work on large tables that many workers share
//   - expire: entities that end, and values for one caller
//   - verify: comparison and repair of derived rows and views
//   - extend: for authors of definitions: rows and effects that follow from entities, and the
//     commit records of writes
//
// The folder patterns is the catalogue: one recipe for each pattern of the 'Azure Table storage
// table design guide', to run and to copy. The folder docs contains longer pages: docs/design.md
// says why the library is as it is, docs/protocols.md draws the protocols and what goes wrong
// without each part, and docs/glossary.md defines the terms and the names of stored rows and
// properties.
package aztablekit
