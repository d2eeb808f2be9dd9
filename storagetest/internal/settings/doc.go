// Package settings holds the properties of a service, and the answers to requests of other origins
// (CORS) that follow from them.
package settings
