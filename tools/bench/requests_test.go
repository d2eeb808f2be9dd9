package main

import (
	"context"
	"testing"
)

// TestRequests: each operation takes the number of requests that is its goal.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, c := range counts() {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			n, err := c.count(context.Background())
			if err != nil || n != c.want {
				t.Errorf("got %d requests, error %v; want %d", n, err, c.want)
			}
		})
	}
}
