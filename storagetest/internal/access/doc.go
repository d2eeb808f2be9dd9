// Package access checks what a shared access signature permits, and holds the stored access
// policies of a table, a queue or a container.
//
// [Verify] checks the signature of a request when it arrives. [Rights.Check] checks the time and
// the permission when it is executed: only then the policies are known.
package access
