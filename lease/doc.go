// Package lease lets one program at a time do something, and lets storage refuse the writes of all others.
package lease
