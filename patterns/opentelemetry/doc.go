// Program opentelemetry shows the spans of aztablekit in OpenTelemetry. It has a module of its own, so that the library does not depend
// on OpenTelemetry. It needs only Go: package storagetest is the service in memory.
//
//	cd patterns/opentelemetry
//	go run .
//
// # Setup
//
// One tracing provider goes to two places: to the SDK's clients, which make a span for each HTTP request, and to the options
// of the store, which makes a span for each method and for each message.
//
//	tracing := azotel.NewTracingProvider(provider, nil) // of your OpenTelemetry SDK
//	acc, err := account.FromConnectionString(connectionString, &account.Options{
//		Client: azcore.ClientOptions{TracingProvider: tracing},
//	})
//	common := table.Common{Tracing: tracing}
//	company := aztablekit.Open(acc, "company", &aztablekit.Options{Common: common})
//
// The file setup.go contains this code as a function to copy. In your program, provider exports the spans, for example by OTLP. Here it
// keeps them, and the program prints them as a tree.
//
// # Spans
//
// The program's own span is the root of the tree. Below it, each method has a span: its name, its table, the number of rows of its
// transaction, and the status error with the service's error code if it fails. Below the method are its requests, including those of
// repeated attempts: a transaction that the service refuses as busy has two. A method that succeeds in the end has no error, although
// one of its requests has.
//
// A worker has a span for each message, and the methods that the handler calls are below it. The message carries no trace context,
// so its span belongs to the trace of the worker, and not to that of the write. The attribute aztablekit.operation_id names the
// write: the log of a worker contains it as op.
//
// docs/observability.md describes all spans, the log, counters and probes.
package main
