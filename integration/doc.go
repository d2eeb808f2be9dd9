// Package integration tests the library on a service. It contains one behaviour suite that every
// service must pass, and exchanges rows and messages with another language's SDK.
package integration
