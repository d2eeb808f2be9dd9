package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
)

// TestGoals and TestRows: each comparison runs, and its two sides ask the service for the same metadata.
func TestGoals(t *testing.T) {
	t.Parallel()
	testRatios(t, func(id string) bool { return strings.HasPrefix(id, "P") })
}

func TestRows(t *testing.T) {
	t.Parallel()
	testRatios(t, func(id string) bool { return !strings.HasPrefix(id, "P") })
}

func testRatios(t *testing.T, of func(id string) bool) {
	for _, g := range testkit.Some(ratios()) {
		if !of(g.id) {
			continue
		}
		t.Run(g.id, func(t *testing.T) {
			t.Parallel()
			p, err := g.setup()
			if err != nil {
				t.Fatalf("got error %v; want none", err)
			}
			for i, f := range []func() error{p.base, p.base, p.ours} { // the second response is a recorded one; ours is in TestAllocations
				if err := f(); err != nil {
					t.Errorf("call %d: got error %v; want none", i, err)
				}
			}
			if g.memory == allocsEach && p.entities == 0 || g.memory == bytesOfData && p.data == 0 {
				t.Errorf("got %d entities and %d bytes of data; want what the goal counts", p.entities, p.data)
			}
		})
	}
}

// TestRecordedResponses: the responses that both sides receive have the service's headers, ETags whose time can be parsed, and the
// same level of metadata. Otherwise one side would do other work than with the service.
func TestRecordedResponses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newReplay()
	testkit.NoError(t, create(r, newOrder(1)))
	ours, err := ordersOf(r, nil)
	testkit.NoError(t, err)
	theirs, err := sdkTable(r)
	testkit.NoError(t, err)
	e, err := ours.Get(ctx, ours.Key(newOrder(1)))
	testkit.NoError(t, err)
	_, err = theirs.GetEntity(ctx, customer, rowKey(1), nil)
	testkit.NoError(t, err)
	testkit.NoError(t, ours.Replace(ctx, e))
	o := newOrder(2)
	_, err = ours.Insert(ctx, &o)
	testkit.NoError(t, err)
	accepts := map[string]bool{}
	for q, got := range r.recorded {
		if q.method == http.MethodGet {
			accepts[q.accept] = true
			testkit.Expect(t, "type of "+q.path, got.Header.Get("Content-Type"), "application/json;odata=minimalmetadata;streaming=true;charset=utf-8")
		}
		for _, name := range []string{"X-Ms-Request-Id", "X-Ms-Version", "Date", "Etag"} {
			if got.Header.Get(name) == "" {
				t.Errorf("%s %s: got headers %v; want also %s", q.method, q.path, got.Header, name)
			}
		}
		in := regexp.MustCompile(`^W/"datetime'(.*)'"$`).FindStringSubmatch(got.Header.Get("Etag"))
		if in == nil {
			t.Fatalf("%s %s: got ETag %q; want one with a time", q.method, q.path, got.Header.Get("Etag"))
		}
		text, err := url.PathUnescape(in[1])
		testkit.NoError(t, err)
		_, err = time.Parse(time.RFC3339Nano, text)
		testkit.NoError(t, err)
	}
	if len(accepts) != 1 {
		t.Errorf("got requests for %v; want one level of metadata", accepts)
	}
}

// TestRecordedFailure: a response that is not a success is not recorded, since an operation that fails is fast.
func TestRecordedFailure(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newReplay()
	ours, err := ordersOf(r, nil)
	testkit.NoError(t, err)
	if _, err = ours.Get(ctx, ours.Key(newOrder(1))); err == nil || len(r.recorded) > 0 {
		t.Errorf("got error %v and %d recorded responses; want an error and none", err, len(r.recorded))
	}
}

// TestSpread: the result is the median.
func TestSpread(t *testing.T) {
	t.Parallel()
	testkit.Expect(t, "spread", spreadOf([]float64{9, 1, 3, 2, 8, 7, 4, 6, 5, 10, 0}), spread{5, 1, 9})
}

// TestCompare: the order of the slices does not change which side is the dividend.
func TestCompare(t *testing.T) {
	t.Parallel()
	var order strings.Builder
	side := func(name string) func() error {
		return func() error {
			if s := order.String(); !strings.HasSuffix(s, name) {
				order.WriteString(name)
			}
			return nil
		}
	}
	_, err := compare(pair{ours: side("A"), base: side("B")}, settings{slices: 4, slice: 0})
	testkit.NoError(t, err)
	// Two slices to warm up, and four pairs. Equal neighbours are one letter: AB, AB BA AB BA.
	testkit.Expect(t, "order of the slices", order.String(), "ABABABA")
	failed := errors.New("failed")
	if _, err := compare(pair{ours: side("A"), base: func() error { return failed }}, settings{slices: 1}); err != failed {
		t.Errorf("got error %v; want that of the baseline", err)
	}
}

// TestFigures: a figure meets its goal or not.
func TestFigures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f         figure
		met       bool
		got, goal string
	}{
		{figure{Got: 0.1, Goal: 0.1, Bound: atMost}, true, "0.100", "≤ 0.1"},
		{figure{Got: 1.126, Goal: 1.12, Bound: atMost}, false, "1.13", "≤ 1.12"},
		{figure{Got: 999, Goal: 1000, Bound: atLeast, Unit: "messages/s"}, false, "999", "≥ 1000 messages/s"},
		{figure{Got: 1234.5, Goal: 1000, Bound: atLeast, Unit: "messages/s"}, true, "1234", "≥ 1000 messages/s"},
		{figure{Got: 2, Goal: 1, Bound: exactly, Unit: "requests"}, false, "2", "= 1 requests"},
		{figure{Got: 1, Goal: 2, Bound: exactly, Unit: "requests"}, false, "1", "= 2 requests"},
		{figure{Got: 12.34, NoGoal: true, Unit: "allocs"}, true, "12.3", "allocs"},
	} {
		got, goal := c.f.texts()
		if c.f.met() != c.met || got != c.got || goal != c.goal {
			t.Errorf("%+v: got met %v, texts %q and %q; want %v, %q, %q", c.f, c.f.met(), got, goal, c.met, c.got, c.goal)
		}
	}
}

// TestReportGoals: a line without a goal counts as neither ok nor short.
func TestReportGoals(t *testing.T) {
	t.Parallel()
	none := figure{Got: 1, NoGoal: true}
	goal := figure{Got: 1, Goal: 2, Bound: atMost}
	results := []result{{ID: "a", Value: none, OK: true}, {ID: "b", Value: goal, OK: true}, {ID: "c", Value: goal}, {ID: "d", Value: none, Memory: &goal, OK: true}, {ID: "e", Value: none, Memory: &none, OK: true}}
	var out bytes.Buffer
	for _, r := range results {
		r.print(&out)
	}
	var outcomes []string
	for line := range strings.Lines(out.String()) {
		word := strings.Fields(line)
		outcomes = append(outcomes, word[len(word)-1])
	}
	if got, want := strings.Join(outcomes, " "), "1 ok short ok 1"; got != want {
		t.Errorf("got the outcomes %q; want %q", got, want)
	}
	out.Reset()
	printFoot(&out, results)
	if got, want := out.String(), "5 lines: 2 ok, 1 short, 2 without a goal\n"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

// TestCommand: the program measures the chosen lines, as text and as JSON.
func TestCommand(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	run := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		testkit.NoError(t, command(ctx, args, &out))
		return out.String()
	}
	list := run("-list")
	for _, id := range []string{"P1 ", "P18 ", "row13 "} {
		if !strings.Contains(list, "\n"+id) && !strings.HasPrefix(list, id) {
			t.Errorf("-list: got no line %s", id)
		}
	}
	fast := []string{"-slices", "1", "-slice", "1us", "-run", "^P6$|^row10$"}
	text := run(fast...)
	if n := strings.Count(text, "\n"); n != 5 || !strings.Contains(text, "\nrow10 ") || !strings.Contains(text, "2 lines: ") {
		t.Errorf("got %d lines, want the head, P6, row10 and the foot:\n%s", n, text)
	}
	var results []result
	testkit.NoError(t, json.Unmarshal([]byte(run(append(fast, "-json")...)), &results))
	if len(results) != 2 || results[0].ID != "P6" || results[0].Value.Goal != 0.1 || results[0].Memory.Got < 1 {
		t.Errorf("got results %+v; want those of P6 and row10", results)
	}
	for _, args := range [][]string{{"-run", "("}, {"-slices", "0"}, {"-entities", "99"}, {"more"}} {
		if err := command(ctx, args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: got no error", args)
		}
	}
}
