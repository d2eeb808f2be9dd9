package main

import (
	"context"
	"log"
	"os"
)

// Example proves the tree: each method of the library is the parent of its requests, and each message of a worker is the parent of the
// methods that its handler calls. Requests that go together are in any order.
func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// set up
	//     aztablekit.Table.Ensure db.collection.name=companywork
	//         HTTP POST net.peer.name=storagetest.table.storagetest.test http.status_code=201
	//     aztablekit.Table.Ensure db.collection.name=staff
	//         HTTP POST net.peer.name=storagetest.table.storagetest.test http.status_code=201
	//     aztablekit.Table.Catalogue db.collection.name=staff
	//         HTTP GET net.peer.name=storagetest.table.storagetest.test http.status_code=404 ERROR 404 Not Found
	//     aztablekit.Table.Partitions db.collection.name=staff
	//         HTTP GET net.peer.name=storagetest.table.storagetest.test http.status_code=200
	//     aztablekit.Table.Catalogue db.collection.name=staff
	//         HTTP POST net.peer.name=storagetest.table.storagetest.test http.status_code=204
	// insert an employee with an index row: the first write also reads the catalogue
	//     aztablekit.Table.Insert db.collection.name=staff db.operation.batch.size=2
	//         HTTP GET net.peer.name=storagetest.table.storagetest.test http.status_code=200
	//         HTTP POST net.peer.name=storagetest.table.storagetest.test http.status_code=202
	// a transaction while the service is busy
	//     aztablekit.Table.Transact db.collection.name=staff db.operation.batch.size=4
	//         HTTP POST net.peer.name=storagetest.table.storagetest.test http.status_code=503 ERROR 503 Service Unavailable
	//         HTTP POST net.peer.name=storagetest.table.storagetest.test http.status_code=202
	// list pages of two
	//     aztablekit.Table.List db.collection.name=staff
	//         HTTP GET net.peer.name=storagetest.table.storagetest.test http.status_code=200
	//         HTTP GET net.peer.name=storagetest.table.storagetest.test http.status_code=200
	// get an employee that does not exist
	//     aztablekit.Table.Get db.collection.name=staff db.response.status_code=ResourceNotFound ERROR *errs.OpError
	//         HTTP GET net.peer.name=storagetest.table.storagetest.test http.status_code=404 ERROR 404 Not Found
	// insert an employee with an effect
	//     aztablekit.Table.Insert db.collection.name=staff db.operation.batch.size=3
	//         HTTP PUT net.peer.name=storagetest.table.storagetest.test http.status_code=204
	//         HTTP POST net.peer.name=storagetest.queue.storagetest.test http.status_code=201
	//         HTTP POST net.peer.name=storagetest.table.storagetest.test http.status_code=202
	//         HTTP PUT net.peer.name=storagetest.queue.storagetest.test http.status_code=204
	// execute the effect
	//     aztablekit.Worker.Execute db.collection.name=staff aztablekit.attempt=1 aztablekit.outcome="message completed"
	//         aztablekit.Table.Resolve db.collection.name=staff
	//             HTTP GET net.peer.name=storagetest.table.storagetest.test http.status_code=200
	//         aztablekit.Table.Upsert db.collection.name=staff
	//             HTTP PUT net.peer.name=storagetest.table.storagetest.test http.status_code=204
	//         aztablekit.Table.MarkDone db.collection.name=staff
	//             HTTP PATCH net.peer.name=storagetest.table.storagetest.test http.status_code=204
	//         HTTP DELETE net.peer.name=storagetest.queue.storagetest.test http.status_code=204
}
