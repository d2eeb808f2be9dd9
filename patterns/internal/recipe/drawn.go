package recipe

import (
	"fmt"
	"strings"
)

// shownRequests is how many requests of a step the page draws.
const shownRequests = 12

// Sequence is how the page draws the requests of a step: lanes, and an arrow from the program,
// which is the first lane, for each request.
type Sequence struct {
	Lanes  []string
	Arrows []Arrow
	More   int // requests that are not drawn
}

// Arrow is a request.
type Arrow struct {
	To     int // its lane
	Text   string
	Status int
}

// Drawn returns the requests as the page draws them.
func (s Step) Drawn() *Sequence {
	if len(s.Sequence) == 0 {
		return nil
	}
	q := &Sequence{Lanes: []string{"program"}}
	lanes := map[string]int{}
	for i, r := range s.Sequence {
		if i == shownRequests {
			q.More = len(s.Sequence) - i
			break
		}
		lane, rest := r.lane()
		if lanes[lane] == 0 {
			lanes[lane] = len(q.Lanes)
			q.Lanes = append(q.Lanes, lane)
		}
		text := strings.TrimSpace(fmt.Sprintf("%s %s", r.Kind, rest))
		if r.Rows > 0 {
			text = fmt.Sprintf("%s of %d rows", r.Kind, r.Rows)
		}
		q.Arrows = append(q.Arrows, Arrow{To: lanes[lane], Text: text, Status: r.Status})
	}
	return q
}

// ShowsRows reports whether the step shows the rows of a table, perhaps none.
func (s Step) ShowsRows() bool { return s.Rows != nil }

// lane returns the table, queue or container of a request, and what remains of its path.
func (r Request) lane() (lane, rest string) {
	lane = r.What
	if end := strings.IndexAny(r.What, "(/ "); end >= 0 {
		lane, rest = r.What[:end], strings.Trim(strings.TrimPrefix(r.What[end:], "()"), "/ ")
	}
	switch kind, _, _ := strings.Cut(string(r.Kind), "-"); kind {
	case "message", "queue":
		return "queue " + lane, "" // the rest is the random ID of a message
	case "blob", "container":
		return "container " + lane, rest
	}
	return "table " + lane, rest
}
