// Package azt is the command azt, which looks at the tables of a storage account, and looks after
// them: rows, definitions, exports and copies, poison messages, jobs. Command cmd/azt is azt as it
// is installed:
//
//	go install github.com/aztablekit/aztablekit/cmd/azt@latest
//	azt help
//
// A program makes an azt of its own with the function that opens its store, so that verify, fill,
// retire and sweep know its definitions, whose key functions are Go code:
//
//	azt.Main(&azt.Program{Open: openCompany}) // func(*account.Account) *aztablekit.Store
//
// # Guarantees
//
//   - Without --write, a command changes nothing in the account, but that poison list hides
//     messages while it runs.
//   - Nothing that is stored reaches the terminal unescaped: neither control characters nor
//     characters that change the direction of a text.
//   - Keys can be typed as they are printed.
//   - A command that reads a whole table without --scan has that as its purpose: hot, cost,
//     pending, export, import, copy, compare, verify, fill.
//   - An export, import, fill or retire that was interrupted goes on when it is called again.
//
// # Exit codes
//
// 0 done; 1 failed; 2 a wrong command line, or one without --write, and nothing was done; 3 faults,
// differences or refusals were found; 4 interrupted.
//
// docs/azt.md shows ten tasks, and docs/runbook.md the commands for ten alarms.
package azt
