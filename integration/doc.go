// Package integration holds the tests that need a service: one behaviour suite that every service must pass, and the
// exchange of rows with another language's SDK.
package integration
