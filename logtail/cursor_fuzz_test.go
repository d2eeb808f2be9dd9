package logtail

import (
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// FuzzCursor: any text is a token or is refused, and a token that is accepted is stored and read back as the same position.
func FuzzCursor(f *testing.F) {
	c := NewCursor("", time.Date(2014, 7, 31, 18, 0, 0, 0, time.UTC))
	if err := c.open("claims/log"); err != nil {
		f.Fatal(err)
	}
	for i := range 5 {
		c.seen.add(keys.Key{}, position{c.from.Add(time.Duration(i) * time.Second), "W", int64(2 * i)})
	}
	c.seen.add(keys.Raw("log", "2521008407000000000"), position{time: c.from})
	f.Add(c.Token())
	f.Add("")
	f.Add("eyJ2IjoxfQ")
	f.Fuzz(func(t *testing.T, text string) {
		c := NewCursor(text, time.Time{})
		if c.open("claims/log") != nil {
			return
		}
		token := c.Token()
		again := NewCursor(token, time.Time{})
		if err := again.open("claims/log"); err != nil {
			t.Fatalf("token %s of the accepted text %q: got error %v; want none", token, text, err)
		}
		if got := again.Token(); got != token {
			t.Errorf("got token %s; want %s", got, token)
		}
		again.moveTo(again.from.Add(time.Hour))
	})
}
