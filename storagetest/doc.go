// Package storagetest is an Azure storage account in memory, for tests. It speaks the protocols of
// the Table, the Queue and the Blob service, so the SDK's clients and everything built on them run
// unchanged, in microseconds, without a network or an emulator, and with faults. Of the types of
// blobs, it has append blobs and block blobs.
//
//	s := storagetest.New(nil)
//	company := aztablekit.Open(s, "company", nil)
//	staff := aztablekit.Table(company, "staff", dept, empid)
//	…
//	// The service executes the next insert, and its response is lost.
//	s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.LostResponse())))
//
// [Service.Tables], [Service.Queues] and [Service.Blobs] return clients of the SDK, with
// [Options].Client. account.FromTransport(s, nil) opens an account.Account. A [Service] is also the
// Transport of a program's own clients, with [Service.ConnectionString]. [Service.Listen] opens
// ports for other processes and other languages.
//
// The responses equal the recorded responses of the live service, and the Service refuses the
// requests that the live service refuses, even if emulators accept them. docs/storagetest.md lists
// the supported operations and the differences from the emulator Azurite. The package gives no
// guarantees beyond tests.
//
// # Contents
//
// [Service.Rows], [Service.Messages] and [Service.StoredBlobs] return the contents of a table, of a
// queue and of a container. [Service.Requests] returns the last requests, and [Service.Count] the
// number of requests of each kind. These methods make no requests.
//
// The kinds of requests are the constants of package requests.
//
// # Time
//
// The clock is time.Now, which in a bubble of testing/synctest is the bubble's clock. [Options].Now
// replaces the clock, and [Service.Advance] sets it forward.
//
// # Faults
//
// A [FaultFunc] chooses the [Fault] of each request, by the number of the request, its kind, or its
// other properties:
//
//	s.SetFaults(storagetest.AtRequest(3, storagetest.LostResponse()))
//	s.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Refuse(503, "ServerBusy")))
//	s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.LostResponse())))
//
// A fault affects each request that the FaultFunc chooses. A client repeats some failed requests,
// and a repeated request has the fault, too. With [Once] or [Times], a fault affects only the first
// of these requests, so that the next attempt succeeds.
//
// Faults lose requests and responses, duplicate and delay requests, refuse requests before or after
// their execution, and cut, delay or prevent responses. [Adverse] shortens pages and throttles
// requests by a seed, as the live service may at any time. Package crashtest injects every fault
// into every request of a workload.
package storagetest
