// Package others runs the tests of other projects that store in Azure Storage against storagetest:
// the storage driver of the container registry, the checkpoint store of Event Hubs, the drivers of
// the Go Cloud Development Kit, the components of Dapr and the store of tusd.
//
// The package is a module of its own, so that the other tools need neither these projects' modules
// nor their newer Go. It contains tests only.
package others
