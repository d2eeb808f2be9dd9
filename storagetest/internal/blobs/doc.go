// Package blobs is the Blob service of an account: its containers and blobs in memory, and the
// requests to them.
package blobs
