// Package suites runs compiled tests of other projects with an account in memory, and for
// comparison with an emulator. The tests call the host names of the live services: a proxy leads
// them to the account. [Suite.Run] reads from the output of the tests which passed.
package suites
