package integration

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

//go:embed exchangequeue.js
var exchangeQueue string

// TestExchangeOfMessagesWithJavaScript: each language gets the texts that the other puts. Neither writes base64 by default.
// JavaScript's SDK removes line feeds from the XML that it sends.
func TestExchangeOfMessagesWithJavaScript(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs Node.js and a service")
	}
	t.Parallel()
	texts := []string{"plain", "é日😀 <a>&amp;</a> \"'\\", "a\nb", `{"p":"Sales"}`, "cGxhaW4="}
	slices.Sort(texts)
	sent, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range services() {
		t.Run(b.Name(), func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, b)
			q := e.queue()
			name := lastSegment(q.URL())
			e.node(exchangeQueue, name, "write", "TEXTS="+string(sent))
			var theirs, put []string
			for _, text := range texts {
				put = append(put, strings.ReplaceAll(text, "\n", ""))
			}
			for _, m := range e.dequeue(q, 32) {
				theirs = append(theirs, *m.MessageText)
				_, err := q.DeleteMessage(t.Context(), *m.MessageID, *m.PopReceipt, nil)
				e.must(err)
			}
			slices.Sort(put)
			if slices.Sort(theirs); !slices.Equal(theirs, put) {
				e.Errorf("texts put by JavaScript: got %q; want %q", theirs, put)
			}
			e.enqueue(q, texts...)
			var ours []string
			e.must(json.Unmarshal(e.node(exchangeQueue, name, "read"), &ours))
			if slices.Sort(ours); !slices.Equal(ours, texts) {
				e.Errorf("texts put by Go: got %q; want %q", ours, texts)
			}
			if n := e.count(q); n != 0 {
				e.Errorf("got %d messages; want none", n)
			}
		})
	}
}
