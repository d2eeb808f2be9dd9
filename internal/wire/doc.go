// Package wire stands between the typed API and the SDK's pipeline. It makes contexts that keep a call's response and switch the SDK's
// repetition of writes off, judges failed writes, removes secrets from errors, and names kinds of requests.
package wire
