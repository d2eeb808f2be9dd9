// Package storagetest is an Azure storage account in memory, for tests. It speaks the service's own protocol, so the SDK's clients, and
// whatever is built on them, are tested unchanged: in microseconds, without a network or an emulator, and with faults.
//
//	s := storagetest.New(nil)
//	client, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{
//		ClientOptions: azcore.ClientOptions{Transport: s},
//	})
//
// A [Service] is a policy.Transporter. [Service.Listen] also opens it at ports, for other processes and other languages.
//
// It has the Table service and the Queue service. It answers as the live service was recorded, and refuses what the service refuses, also
// where emulators do not. docs/storagetest.md lists what it does, what it leaves out, and each difference from the emulator Azurite.
// Nothing is promised beyond tests.
//
// # Looking inside
//
// [Service.Rows] and [Service.Messages] return what is stored, and [Service.Requests] and [Service.Count] the requests that were made,
// without a request of their own.
//
// A [Request] is one of these kinds: insert, replace, merge, insert-or-replace, insert-or-merge, delete, get, query,
// transaction, table-create, table-delete, table-query; message-put, message-get, message-peek, message-update,
// message-delete, message-clear, queue-create, queue-delete, queue-list, queue-get (its properties), queue-set (its metadata);
// other.
//
// # Time
//
// The clock is time.Now, and in a bubble of testing/synctest the bubble's. [Options].Now replaces it, and [Service.Advance] moves it on.
//
// # Faults
//
// A [Plan] decides what goes wrong with each request, by its number, its kind, or anything else about it:
//
//	s.SetFaults(storagetest.AtRequest(3, storagetest.LostResponse()))
//	s.SetFaults(storagetest.OfKind("transaction", storagetest.Refuse(503, "ServerBusy")))
//	s.SetFaults(storagetest.OfKind("insert", storagetest.Once(storagetest.LostResponse()))) // the next attempt succeeds
//
// A fault hits all requests that its plan chooses, repeated attempts included, unless [Once] or [Times] limits it. A plan for
// a kind that no request has refuses every request.
//
// A [Fault] loses a request or its response; delivers a request twice, late, or once more; refuses it before or after its work is done, or inside
// a transaction's response; cuts, delays or never ends a response; or shortens a page. Package crashtest tries every
// fault at every request of a protocol.
package storagetest
