// Package account opens the SDK's clients for a storage account in one place, configured as this library asks.
//
// An account comes from a connection string, from endpoints with a token credential (Microsoft Entra ID), or from URLs with
// shared access signatures:
//
//	acc, err := account.FromConnectionString(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), nil)
//	staff, err := table.New(acc.Tables(), "staff", schema, nil)
//
// What it hands out are the SDK's own clients, so they serve everything else that the SDK can do, too. They differ from
// bare ones in this: a try of a Table or Queue request ends after ten seconds, where the SDK waits for ever; no error's text
// holds a signature, where the SDK prints the URL of a request that failed on its way; and requests can be counted.
// Clients that you make yourself get the same by table.ClientOptions, and work with the library without it.
//
// Opening an account sends nothing and checks no credential. No error of this package prints a key or a signature.
package account
