// Package wire is what lies between the typed API and the SDK's pipeline: contexts for calls whose reply is kept and whose
// writes are not repeated behind our back, the verdict on a failed write, errors without secrets, and the kind of a request.
package wire
