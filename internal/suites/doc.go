// Package suites runs compiled tests of other projects with an account in memory or an emulator. The tests call the host names of the
// live services: [Live] leads them to the account. [Program.Run] runs the tests and reads from their output which passed.
package suites
