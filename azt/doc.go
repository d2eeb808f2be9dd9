// Package azt is the command azt: it looks at the tables of a storage account, and looks after them. Command cmd/azt is azt as it is installed:
//
//	go install github.com/aztablekit/aztablekit/cmd/azt@latest
//	azt help
package azt
