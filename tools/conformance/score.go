package conformance

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// Score is how many cases a service answers as recorded.
type Score struct {
	Topics []TopicScore
	Misses []*Result `json:",omitempty"`

	// Modules counts the exchanges of each module: those that are answered with the same meaning,
	// and those to the letter.
	Modules []TopicScore `json:",omitempty"`
}

// TopicScore counts the cases of a topic: all, those that are answered with the same meaning, those
// whose header or body is as recorded to the letter, and those for which all three are true.
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

// Account returns a client of the account for a recording, and a function that sets the clock of
// the account. Without such a function, the times in requests are moved to the present.
type Account func() (c *Client, at func(time.Time), err error)

// Measure downloads the recordings of a module and sends their requests to accounts.
func (m Module) Measure(ctx context.Context, open Account) (score TopicScore, all []Replayed, err error) {
	recordings, err := m.Download(ctx)
	if err != nil {
		return score, nil, err
	}
	score.Topic = "recordings of " + path.Base(m.Path) + " " + m.Version
	for _, r := range recordings {
		c, at, err := open()
		if err != nil {
			return score, nil, err
		}
		all = append(all, Replay(c, m.Service, r, at)...)
	}
	for _, out := range all {
		score.Cases++
		if out.Meaning {
			score.Meaning++
		}
		if out.Verdict == Same {
			score.Equal++
		}
	}
	return score, all, nil
}

// MeasureModules sends the requests of all recordings of modules, and adds their scores.
func (s *Score) MeasureModules(ctx context.Context, open Account) error {
	for _, m := range Modules {
		score, _, err := m.Measure(ctx, open)
		if err != nil {
			return err
		}
		s.Modules = append(s.Modules, score)
	}
	return nil
}

// rows returns the topics, their sum and the modules.
func (s *Score) rows() []TopicScore {
	return slices.Concat(s.Topics, []TopicScore{s.Total()}, s.Modules)
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

// Table compares the scores of several services, as a table in Markdown: the cases that are
// answered with the same meaning, and in brackets those that are answered to the letter.
func Table(names []string, scores []*Score) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| topic | cases | %s |\n|---|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for i := range scores[0].rows() {
		for k, s := range scores {
			t := s.rows()[i]
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
	fmt.Fprintf(&b, "%-32s %6s %8s %7s %6s %6s\n", "topic", "cases", "meaning", "header", "body", "equal")
	for _, t := range s.rows() {
		fmt.Fprintf(&b, "%-32s %6d %8d %7d %6d %6d\n", t.Topic, t.Cases, t.Meaning, t.Header, t.Body, t.Equal)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
