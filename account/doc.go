// Package account opens the SDK's clients for a storage account in one place, configured as this library asks.
//
// An account comes from a connection string, from endpoints with a token credential (Microsoft Entra ID), or from URLs with
// shared access signatures:
//
//	acc, err := account.FromConnectionString(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), nil)
//	staff, err := table.New(acc.Tables(), "staff", schema, nil)
//
// The clients are the SDK's own. They differ from clients with the SDK's defaults in four ways: an attempt of a Table or Queue request ends
// after ten seconds, where the SDK waits for ever; redirects are not followed; no error text contains a signature, where the SDK prints the
// URL of a failed request; and requests can be counted. table.ClientOptions gives the same to clients that you make yourself; the
// library works with other clients, too.
//
// Opening an account sends nothing and checks no credential. No error of this package contains a key or a signature.
package account
