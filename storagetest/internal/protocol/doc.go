// Package protocol defines what the services of a storage account share: the request and the response, the account's key, and the small
// interface between an account and its services. An account numbers requests, injects faults, records requests and holds the lock.
// A [Service] reads requests and executes them.
package protocol
