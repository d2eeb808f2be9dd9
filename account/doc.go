// Package account opens the clients of the SDK for a storage account, with the options that this
// library recommends.
//
// An account comes from a connection string, from endpoints with a token credential (Microsoft
// Entra ID), or from URLs with shared access signatures:
//
//	acc, err := account.FromEnvironment(nil, nil)
//	company := aztablekit.Open(acc, "company", nil)
//
// In a test, [FromTransport] opens an account in memory:
//
//	acc, err := account.FromTransport(storagetest.New(nil), nil)
//
// The clients differ from clients with the default options of the SDK in five ways:
//
//   - An attempt of a Table or Queue request ends after ten seconds. By default it has no limit.
//   - Redirects are not followed.
//   - 100 idle connections to each host are kept, and not 10, so that a burst of requests opens no
//     connections if one as large came before it. The clients of an account share one transport,
//     unless Options.Client contains the program's own, which stays as it is.
//   - No error text contains a signature. By default the error text of a failed request contains
//     the URL.
//   - Requests can be counted.
//
// [Account.TableSAS] returns a URL with a shared access signature for a [Grant]: some operations on
// the rows of one table, or of a range of keys, for some time.
//
// table.ClientOptions returns the same options for clients that a program makes itself. The library
// works with other clients, too.
//
// docs/aztables.md shows common tasks with package aztables of the SDK and with this library, side
// by side.
//
// Opening an account sends no request and checks no credential. No error of this package contains a
// key or a signature.
package account
