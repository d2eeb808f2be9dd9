// Package blobs contains what the packages that store blobs share: the requests' contexts and
// conditions, the errors of refused requests, lists, and names that are made of keys.
package blobs
