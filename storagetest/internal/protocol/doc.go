// Package protocol defines what the services of a storage account share: requests, responses,
// failures, the account's key, and the interface between an account and its services. The account
// numbers requests, injects faults, records requests and holds the lock. A [Service] receives
// requests and returns a [Call] for each, which the account executes.
package protocol
