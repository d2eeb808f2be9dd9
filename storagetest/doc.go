// Package storagetest is an Azure storage account in memory, for tests. It speaks the service's own protocol, so the SDK's
// clients and whatever stands on them are tested as they are, in microseconds, without a network, without an emulator to
// install, and with faults that no emulator can be asked for.
//
//	s := storagetest.New(nil)
//	client, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{
//		ClientOptions: azcore.ClientOptions{Transport: s},
//	})
//
// A [Service] is a policy.Transporter. [Service.Listen] opens it at ports too, for other processes and other languages. What
// it holds can be looked at without a request ([Service.Rows], [Service.Messages]), and so can the requests that it has seen
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
// The Queue service: queues with their metadata and counts, messages that are put, got, peeked at, updated, deleted and
// cleared, hidden and expired by the clock, with receipts as the service makes them, and the account's key. It refuses what the
// service refuses: names, texts over 64 KiB and with control characters, times and numbers out of range, receipts that there
// are newer ones than, a queue's name for 40 seconds after its deletion. Messages come oldest first, which the service does
// not promise: [Options].Shuffle lets them come in any order. Ids and receipts follow from what has happened before, never
// from chance.
//
// Not here: access policies and service properties, signatures for accounts, for queues and by policies, Atom, the Blob
// service, pages that are short of themselves (a plan can ask for them: [Short]). Nothing is promised beyond tests.
//
// # Requests
//
// A [Request] is one of these kinds: insert, replace, merge, insert-or-replace, insert-or-merge, delete, get, query,
// transaction, table-create, table-delete, table-query; message-put, message-get, message-peek, message-update,
// message-delete, message-clear, queue-create, queue-delete, queue-list, queue-get (its properties), queue-set (its metadata);
// other.
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
//	s.SetFaults(storagetest.OfKind("insert", storagetest.Once(storagetest.LostReply()))) // and the next attempt succeeds
//
// A fault hits all requests that its plan chooses, a client's repetitions included, unless [Once] or [Times] says how many. A plan for
// a kind that no request has refuses every request.
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
//   - the byte order mark before XML
//   - Cache-Control of what is read from a queue
//   - a control character in a message
//   - a message that is not UTF-8
//   - two messages in a body
//   - a body that is no XML
//   - a message without a text
//   - a message that is hidden for as long as it lives by default
//   - a message that lives for ever before 2017-07-29
//   - a message that lives for less than no time
//   - a receipt that there is a newer one than
//   - a receipt that is none
//   - the length of an update's receipt
//   - an update without a time
//   - a delete without a receipt
//   - a get of no messages
//   - a queue's name right after its deletion
//   - the text about a queue's name that cannot be
//   - the case of a name in metadata
//   - a name in metadata that cannot be
//   - maxresults left out
//   - a page of no queues
//   - a marker that is none
//   - the marker of the next page of queues
//   - an address below a queue that is nothing
//   - a verb that messages do not have
//
// # Choices
//
// Some of what the service does is in no recording and not in the documentation. Here, a comparison with a property that the
// row lacks, or that is of another type, does not hold, whatever its operator; digits alone (5) are compared with Int64 and
// Double too; the sign of zero is lost; a failing first operation of several has no index in its message, unless it is the
// request that is wrong and not the row; a whole number beyond Int32 without an annotation is a Double.
//
// An update or a delete by a receipt that there is a newer one than is answered with 404 MessageNotFound, as users of the live
// service report, where the documentation has 400 PopReceiptMismatch: [Options].ReceiptMismatch answers that. A receipt holds
// until there is a newer one, also of a message that can be seen again. An update without a body keeps the text, one with an
// empty text wipes it. It may hide a message beyond its end, which the documentation forbids without saying how it is refused; so may
// Azurite's. To all but its creation a queue that is being deleted is not
// there. A lifetime below 1 other than -1 is an invalid parameter, not one out of range. The names of metadata are kept in
// lower case.
package storagetest
