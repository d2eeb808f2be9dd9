package main

import (
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/tracing/azotel"
	"go.opentelemetry.io/otel/trace"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/table"
)

// open returns an account whose requests have spans, and the options with which tables, outboxes and workers have spans. With a
// connection string or a credential, call FromConnectionString or FromCredential in the place of FromTransport.
func open(t account.Transport, provider trace.TracerProvider) (*account.Account, table.Common, error) {
	tracing := azotel.NewTracingProvider(provider, nil)
	acc, err := account.FromTransport(t, &account.Options{Client: azcore.ClientOptions{TracingProvider: tracing}})
	return acc, table.Common{Tracing: tracing}, err
}
