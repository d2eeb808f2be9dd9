// Package series is being written.
package series
