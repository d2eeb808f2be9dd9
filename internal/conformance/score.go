package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Score is how many cases a service answers as recorded.
type Score struct {
	Topics []TopicScore
	Misses []*Result `json:",omitempty"`
}

// TopicScore counts the cases of a topic: all, those that are answered with the same meaning, those whose header or body is as
// recorded to the letter, and those for which all three are true.
type TopicScore struct {
	Topic                        string
	Cases                        int
	Meaning, Header, Body, Equal int
}

// Measure runs all cases, one after another.
func Measure(c *Client) (*Score, error) {
	all, err := Cases()
	if err != nil {
		return nil, err
	}
	s := new(Score)
	for _, of := range all {
		if n := len(s.Topics); n == 0 || s.Topics[n-1].Topic != of.Topic {
			s.Topics = append(s.Topics, TopicScore{Topic: of.Topic})
		}
		s.add(&s.Topics[len(s.Topics)-1], Run(c, of))
	}
	return s, nil
}

func (s *Score) add(t *TopicScore, r *Result) {
	t.Cases++
	if r.Meaning {
		t.Meaning++
	}
	if r.Header {
		t.Header++
	}
	if r.Body {
		t.Body++
	}
	if r.Equal() {
		t.Equal++
	} else {
		s.Misses = append(s.Misses, r)
	}
}

// Total sums up the topics.
func (s *Score) Total() TopicScore {
	total := TopicScore{Topic: "all"}
	for _, t := range s.Topics {
		total.Cases += t.Cases
		total.Equal += t.Equal
		total.Meaning += t.Meaning
		total.Header += t.Header
		total.Body += t.Body
	}
	return total
}

// Table compares the scores of several services, as a table in Markdown: the cases that are answered with the same meaning, and in
// brackets those that are answered to the letter.
func Table(names []string, scores []*Score) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| topic | cases | %s |\n|---|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for i := range len(topics) + 1 {
		for k, s := range scores {
			t := slices.Concat(s.Topics, []TopicScore{s.Total()})[i]
			if k == 0 {
				fmt.Fprintf(&b, "| %s | %d |", t.Topic, t.Cases)
			}
			fmt.Fprintf(&b, " %d (%d) |", t.Meaning, t.Equal)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Print writes the misses, and then the score as a table.
func (s *Score) Print(w io.Writer) error {
	var b strings.Builder
	for _, r := range s.Misses {
		fmt.Fprintf(&b, "== %s: %s\n%s, %s\n%s\n-- expected\n%s-- actual\n%s\n", r.Topic, r.Name, r.Facts, r.Recorded, r.Miss.Request, r.Miss.Expected, r.Miss.Actual)
	}
	fmt.Fprintf(&b, "%-14s %6s %8s %7s %6s %6s\n", "topic", "cases", "meaning", "header", "body", "equal")
	for _, t := range slices.Concat(s.Topics, []TopicScore{s.Total()}) {
		fmt.Fprintf(&b, "%-14s %6d %8d %7d %6d %6d\n", t.Topic, t.Cases, t.Meaning, t.Header, t.Body, t.Equal)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
