// Package queues is the Queue service of an account: its queues and messages in memory, and the
// requests to them.
package queues
