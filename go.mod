module github.com/aztablekit/aztablekit

go 1.25.0

require (
	golang.org/x/text v0.41.0
	pgregory.net/rapid v1.3.0
)
