package eventual

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// history is what workers store in a message about its deliveries.
type history struct {
	Uncounted    int64      `json:"uncounted,omitempty"` // deliveries that count neither as an attempt nor as a crash
	Failed       int64      `json:"tried,omitempty"`     // failed attempts
	Isolated     int64      `json:"alone,omitempty"`     // executions in isolation that did not end
	Outages      int64      `json:"away,omitempty"`      // latest uncounted deliveries in a row for which storage was down
	UnknownSince *time.Time `json:"since,omitempty"`     // when a worker first did not know the table, kind or version, or read that the write's clock is ahead
}

// plausible returns the history without counts that the number of deliveries contradicts. A message is not trusted: with a forged
// count, a message could remain new for ever.
func (h history) plausible(deliveries int64) history {
	left := deliveries - 1 // no count includes the current delivery
	for _, count := range []*int64{&h.Uncounted, &h.Failed, &h.Isolated} {
		if *count < 0 || *count > left {
			*count = 0
		}
		left -= *count
	}
	h.Outages = max(0, min(h.Outages, h.Uncounted))
	return h
}

// withHistory returns the text of a message with another history. Other properties are kept, because the message may be of a later
// version. The text is returned unchanged if the message has no room for the history.
func withHistory(text string, h history) string {
	all := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(plainText(text)), &all) != nil {
		return text
	}
	before := len(all)
	for name := range all { // package json ignores the case of names when it reads them
		if slices.ContainsFunc([]string{"uncounted", "tried", "alone", "away", "since"}, func(s string) bool { return strings.EqualFold(name, s) }) {
			delete(all, name)
		}
	}
	if h == (history{}) && before == len(all) {
		return text
	}
	for name, count := range map[string]int64{"uncounted": h.Uncounted, "tried": h.Failed, "alone": h.Isolated, "away": h.Outages} {
		if count > 0 {
			all[name], _ = json.Marshal(count)
		}
	}
	if h.UnknownSince != nil {
		all["since"], _ = json.Marshal(h.UnknownSince)
	}
	b, err := json.Marshal(all)
	if err != nil {
		return text
	}
	if s := asciiJSON(string(b)); encodedLength(s) <= maxMessage {
		return s
	}
	return text
}
