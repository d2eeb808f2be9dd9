// Package storagetest is an Azure storage account in memory, for tests. It speaks the service's own protocol, so the SDK's
// clients and whatever stands on them are tested as they are, in microseconds, without a network, without an emulator to
// install, and with faults that no emulator can be asked for.
//
//	s := storagetest.New(nil)
//	client, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{
//		ClientOptions: azcore.ClientOptions{Transport: s},
//	})
//
// A [Service] is a policy.Transporter. [Service.Listen] opens it at a port too, for other processes and other languages.
// What it holds can be looked at without a request ([Service.Rows]), and so can the requests that it has seen
// ([Service.Requests], [Service.Count]).
//
// # What it does
//
// The Table service, whole but for what is said below: tables, all verbs on entities, queries with every operator and
// literal, projections, pages, entity group transactions, the account's key, and shared access signatures for tables and
// ranges of keys. Where the documentation and recordings of the live service differ, it answers as recorded: statuses,
// bodies, error codes, the text of doubles and dates, ETags and Timestamps, replies to transactions.
//
// It is strict. What the service refuses and emulators let through is refused: keys with forbidden characters or over 1 KiB,
// property names, 253 properties, values over 64 KiB, entities over 1 MiB, times before 1601, transactions over two
// partitions or with a row twice, filters of more than 15 comparisons, a table's name for 40 seconds after its deletion.
// What it does not know it answers with 501.
//
// Not here: access policies and service properties, signatures for accounts and by policies, Atom, the Queue and Blob
// services, pages that are short of themselves (a plan can ask for them: [Short]). Nothing is promised beyond tests.
//
// # Time
//
// The clock is time.Now, so in a bubble of testing/synctest it is the bubble's, and back-off costs nothing. [Options].Now
// replaces it, [Service.Advance] moves it on. A new Timestamp is at least a millisecond after the row's last one, also of a
// row that was deleted in between, with its table or alone, so an ETag never comes twice. The dates of requests are not compared
// with it. Inside a transaction Timestamps differ and follow no order,
// as the service's do.
//
// # Faults
//
// A [Plan] decides what goes wrong with each request, by its number, its kind, or anything else about it:
//
//	s.SetFaults(storagetest.AtRequest(3, storagetest.LostReply()))
//	s.SetFaults(storagetest.OfKind("transaction", storagetest.Refuse(503, "ServerBusy")))
//
// The faults are those of networks and of storage: a request that is not sent, that is lost, whose reply is lost, that
// arrives twice, late, or once more; refusals before and after the work is done, and inside a transaction's reply; replies
// that are cut, hang or are slow; pages that are short or empty.
//
// Package crashtest tries them all, at every request of a protocol.
//
// # Beside Azurite
//
// The emulator Azurite (3.37) answers otherwise, and the live service as this package does, in these matters; package
// integration shows each on both:
//
//   - a whole double without annotation
//   - the exponent of a double
//   - zeros behind a time
//   - characters beyond ASCII
//   - the order of properties after an update
//   - $select of a property that is not there
//   - Prefer left out
//   - the error code in the head
//   - a quote that is not doubled in an address
//   - a table's name that cannot be
//   - a property's name that cannot be
//   - an Int64 beyond 64 bits
//   - a time before 1601
//   - 253 properties
//   - an entity over 1 MiB
//   - 16 comparisons
//   - an Int64 literal and an Int32 property
//   - null as a literal
//   - a table's name right after its deletion
//   - the index of a failing first operation
//   - a row twice in a transaction
//   - two partitions in a transaction
//   - 101 operations
//   - a transaction of nothing
//   - a Content-ID that was not sent
//   - a signature's range
//
// # Choices
//
// Some of what the service does is in no recording and not in the documentation. Here, a comparison with a property that the
// row lacks, or that is of another type, does not hold, whatever its operator; digits alone (5) are compared with Int64 and
// Double too; the sign of zero is lost; a failing first operation of several has no index in its message, unless it is the
// request that is wrong and not the row; a whole number beyond Int32 without an annotation is a Double.
package storagetest
