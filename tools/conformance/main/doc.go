// Command conformance holds a service, such as an emulator, against exchanges that tests of the
// official SDKs recorded with the live services:
//
//	go -C tools run ./conformance/main -endpoint UseDevelopmentStorage=true
//
// It prints each case that is not answered as recorded, with the expected and the actual response,
// and then the numbers of cases by topic. The flag -json prints the same as JSON. The flag
// -endpoint is a connection string; without it, the command measures storagetest. With the flag
// -modules, the command also downloads Go modules that contain recordings, sends their requests in
// the recorded order, and counts the responses that mean the same and those that are identical. The
// exit status is 1 if a case is not answered as recorded.
//
// The command creates tables, queues and containers with new names, and leaves them there: use an
// account for tests.
package main
