// Package wire connects package table to the pipeline of the SDK. It puts the library's own
// requests in the place of the SDK's (Request, Call.Exchange), writes and parses the bodies of
// transactions, makes contexts that capture the response to a call of the SDK and switch off its
// retries of writes, determines the outcome of failed writes, removes signatures from error texts,
// and names kinds of requests.
package wire
