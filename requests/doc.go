// Package requests names the kinds of requests to the Table, the Queue and the Blob service, and
// counts requests by kind.
//
// A [Counter] is a policy of the SDK's clients. It counts each request that goes to the network,
// including repeated attempts:
//
//	var counter requests.Counter
//	acc, err := account.FromConnectionString(connectionString, &account.Options{Counter: &counter})
//	…
//	_, err = staff.Update(ctx, key, change)
//	n := counter.Take()
//	fmt.Println(n)               // 1 get, 1 replace
//	fmt.Println(n[requests.Get]) // 1
//
// Package account and table.ClientOptions take a Counter. The clients of a program without them
// take it in PerRetryPolicies.
//
// [KindOf] returns the kind of a request, for policies of a program's own, such as a policy that
// exports metrics.
//
// Package storagetest uses the same kinds to choose faults and to list requests:
//
//	s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.LostResponse())))
package requests
