// Command azt looks at the tables of a storage account, and looks after them: rows, definitions,
// exports and copies, poison messages, jobs. It is package github.com/aztablekit/aztablekit/azt
// with the credentials of package azidentity.
//
//	go install github.com/aztablekit/aztablekit/cmd/azt@latest
//	azt help
package main

import (
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/aztablekit/aztablekit/azt"
)

func main() {
	azt.Main(&azt.Program{Credential: func() (azcore.TokenCredential, error) { return azidentity.NewDefaultAzureCredential(nil) }})
}
