// Package wire connects package table to the pipeline of the SDK. It makes contexts that capture a call's response and switch off
// the SDK's retries of writes, determines the outcome of failed writes, removes signatures from error texts, and names kinds of
// requests.
package wire
