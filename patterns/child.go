package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

// runAsChild does the work of a process that RunChild has started, and reports whether this process is one.
func runAsChild(ctx context.Context) (child bool, err error) {
	text := os.Getenv(childEnv)
	if text == "" {
		return false, nil
	}
	var words []string
	if err := json.Unmarshal([]byte(text), &words); err != nil {
		return true, fmt.Errorf("environment variable %s: %w", childEnv, err)
	}
	if len(words) < 2 {
		return true, fmt.Errorf("environment variable %s is %s; want a JSON array of service, recipe and arguments", childEnv, text)
	}
	rec, err := catalogue.find(words[1])
	if err != nil || rec.child == nil {
		return true, fmt.Errorf("environment variable %s: recipe %q has no part for a child process", childEnv, words[1])
	}
	s, err := connect(words[0], os.Getenv(connectionEnv))
	if err != nil {
		return true, err
	}
	r := &Run{service: s, report: rec.head(), answers: os.Stdout}
	err = r.Do("child process", func() error { return rec.child(ctx, r, words[2:]) })
	fmt.Printf("requests of the other process: %v\n", r.report.Steps[0].Requests)
	return true, err
}
