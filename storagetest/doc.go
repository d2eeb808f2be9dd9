// Package storagetest is an Azure storage account in memory, for tests. It speaks the protocol of the Table service and of the
// Queue service, so the SDK's clients and everything built on them run unchanged, in microseconds, without a network or an
// emulator, and with faults.
//
//	s := storagetest.New(nil)
//	client, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{
//		ClientOptions: azcore.ClientOptions{Transport: s},
//	})
//
// A [Service] is the Transport of clients in the same process. [Service.Listen] opens ports for other processes and other
// languages.
//
// The responses equal the recorded responses of the live service, and the Service refuses the requests that the live service
// refuses, even if emulators accept them. docs/storagetest.md lists the supported operations and the differences from the emulator
// Azurite. The package gives no guarantees beyond tests.
//
// # Contents
//
// [Service.Rows] and [Service.Messages] return the contents of a table and of a queue. [Service.Requests] returns the last
// requests, and [Service.Count] the number of requests of each kind. These methods make no requests.
//
// A [Request] has one of these kinds: insert, replace, merge, insert-or-replace, insert-or-merge, delete, get, query, transaction,
// table-create, table-delete, table-query; message-put, message-get, message-peek, message-update, message-delete, message-clear,
// queue-create, queue-delete, queue-list, queue-get (its properties), queue-set (its metadata); other.
//
// # Time
//
// The clock is time.Now, which in a bubble of testing/synctest is the bubble's clock. [Options].Now replaces the clock, and
// [Service.Advance] sets it forward.
//
// # Faults
//
// A [Plan] chooses the [Fault] of each request, by the number of the request, its kind, or its other properties:
//
//	s.SetFaults(storagetest.AtRequest(3, storagetest.LostResponse()))
//	s.SetFaults(storagetest.OfKind("transaction", storagetest.Refuse(503, "ServerBusy")))
//	s.SetFaults(storagetest.OfKind("insert", storagetest.Once(storagetest.LostResponse()))) // the next attempt succeeds
//
// A fault affects each request that the plan chooses, including repeated attempts, unless [Once] or [Times] limits the fault.
//
// Faults lose requests and responses, duplicate and delay requests, refuse requests before or after their execution, and cut, delay
// or prevent responses. Package crashtest injects every fault into every request of a workload.
package storagetest
