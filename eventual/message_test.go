package eventual_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// TestUntrusted: a forged message makes a worker do nothing but what is due.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	fresh := operationIDAt(time.Now())
	message := func(tab, partition, op string) string {
		return fmt.Sprintf(`{"v":1,"table":%q,"partition":%q,"op":%q}`, tab, partition, op)
	}
	for name, c := range map[string]struct {
		text   string
		poison string
		defers bool
	}{
		"not JSON":             {text: "hello", poison: eventual.ClassUndecodable},
		"empty":                {text: " ", poison: eventual.ClassUndecodable},
		"JSON of another kind": {text: `{"order":17}`, poison: eventual.ClassUndecodable},
		"a list":               {text: `[1,2]`, poison: eventual.ClassUndecodable},
		"base64 of nothing":    {text: "aGVsbG8=", poison: eventual.ClassUndecodable},
		"no operation":         {text: `{"v":1,"table":"staff","partition":"S"}`, poison: eventual.ClassUndecodable},
		"clean-up":             {text: `{"v":1,"table":"staff","partition":"S","hour":"2026-01-01T00:00:00Z"}`}, // due at any time
		"bad operation":        {text: message("staff", "S", "' or 1 eq 1"), poison: eventual.ClassUndecodable},
		"escape in a table":    {text: `{"v":1,"table":"staff\u001b[2J","partition":"S","op":"` + fresh + `"}`, poison: eventual.ClassUndecodable},
		"invalid table":        {text: message("a-b", "S", fresh), poison: eventual.ClassUndecodable},
		"short table":          {text: message("ab", "S", fresh), poison: eventual.ClassUndecodable},
		"long table":           {text: message(strings.Repeat("a", 64), "S", fresh), poison: eventual.ClassUndecodable},
		"short operation":      {text: message("staff", "S", fresh[1:]), poison: eventual.ClassUndecodable},
		"escape in operation":  {text: `{"v":1,"table":"payroll","partition":"S","op":"\u001b[2J` + fresh[4:] + `"}`, poison: eventual.ClassUndecodable},
		"bad, foreign table":   {text: message("payroll", "S", "x"), poison: eventual.ClassUndecodable},
		"bad hour":             {text: `{"v":1,"table":"staff","partition":"S","hour":"\u001b[2J"}`, poison: eventual.ClassUndecodable},
		"empty partition":      {text: message("staff", "", fresh), poison: eventual.ClassUndecodable},
		"bad partition":        {text: `{"v":1,"table":"staff","partition":"a/b","op":"` + fresh + `"}`, poison: eventual.ClassUndecodable},
		"foreign table":        {text: message("payroll", "S", fresh), defers: true},
		"later version":        {text: `{"v":2,"tables":["staff"],"what":"ever"}`, defers: true},
		"old operation":        {text: message("staff", "S", operationIDAt(time.Now().Add(-25*time.Hour))), poison: eventual.ClassExpired},
		"future operation":     {text: message("staff", "S", operationIDAt(time.Now().Add(48*time.Hour))), defers: true},
		"never committed":      {text: message("staff", "S", fresh)},
		"other case":           {text: message("STAFF", "S", fresh)},
		"forged counts":        {text: `{"v":1,"table":"staff","partition":"S","op":"` + fresh + `","uncounted":-5,"since":"2999-01-01T00:00:00Z"}`},
		"oversized":            {text: message("staff", "S", fresh) + strings.Repeat(" ", 60_000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, s := newOffice(t, noPauses())
			o.put(t, "notifications", c.text)
			before := len(s.Rows("staff"))
			w := o.worker(t, fastPolling())
			drain(t, w)
			left := s.Messages("notifications")
			if c.defers {
				testkit.Expect(t, "messages left", len(left), 1)
				testkit.Expect(t, "messages deferred", w.Stats().Deferred, 1)
				atLeast(t, "time until the next delivery", left[0].Visible.Sub(s.Now()), 20*time.Second)
			} else {
				testkit.Expect(t, "messages left", len(left), 0)
			}
			if c.poison == "" {
				o.expectPoison(t)
			} else {
				got := o.expectPoison(t, c.poison)[0]
				testkit.Expect(t, "text of poison", strings.TrimSpace(got.Text), strings.TrimSpace(c.text))
				if c.poison == eventual.ClassUndecodable {
					testkit.Expect(t, "names in an undecodable message", got.Table+got.Partition+got.OperationID, "")
				}
			}
			abortRecords := 1
			if c.poison != "" || c.defers {
				abortRecords = 0
			}
			atMost(t, "new rows", len(s.Rows("staff"))-before, abortRecords)
			testkit.Expect(t, "letters", len(s.Rows("sent")), 0)
		})
	}
}

// TestEncodings: a worker reads messages in plain text and in base64, as other clients write them, with any characters in keys.
func TestEncodings(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, d := range []string{"S", "Größe & <more> 'quoted' \"twice\"", "日本語 😀", "a%b"} {
		o, s := newOffice(t, noPauses())
		raw, err := table.New(o.acc.Tables(), "staff", table.Schema[table.Row]{}, nil)
		noError(t, err)
		raw, err = maintain.WithOutbox(raw, o.out, eventual.OnChange("letter", func(c *maintain.Change[table.Row]) (letter, bool) { return letter{1, "Jones"}, true }))
		noError(t, err)
		// A row of another client, with a key that this library does not make.
		_, err = o.acc.Tables().NewClient("staff").AddEntity(ctx, []byte(fmt.Sprintf(`{"PartitionKey":%q,"RowKey":"r"}`, d)), nil)
		noError(t, err)
		e, err := raw.Get(ctx, rawKey(d))
		noError(t, err)
		noError(t, raw.Replace(ctx, e))
		m := s.Messages("notifications")[0]
		for _, c := range m.Text {
			if c >= 0x7F || c < ' ' {
				t.Errorf("message %s: got character %q, want printable ASCII", m.Text, c)
			}
		}
		o.put(t, "notifications", base64.StdEncoding.EncodeToString([]byte(m.Text)))
		o.put(t, "notifications", "\n "+m.Text+"\n")
		opt := fastPolling()
		opt.Concurrency = 1
		w := o.worker(t, opt)
		drain(t, w)
		testkit.Expect(t, d+": stats", w.Stats(), eventual.Stats{Received: 3, Completed: 3, Effects: 1})
		testkit.Expect(t, d+": letters", len(s.Rows("sent")), 1)
	}
}

// TestLongKeys: effects of writes in partitions with the longest possible keys are executed.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, _ := newOffice(t, noPauses())
	rows, err := table.New(o.acc.Tables(), "staff", table.Schema[table.Row]{}, nil)
	noError(t, err)
	rows, err = maintain.WithOutbox(rows, o.out, eventual.OnChange("letter", func(c *maintain.Change[table.Row]) (letter, bool) { return letter{1, "x"}, true }))
	noError(t, err)
	for _, k := range []string{"A" + strings.Repeat("中", 511), strings.Repeat("x", 512), "A" + strings.Repeat("😀", 255)} {
		_, err := rows.Insert(ctx, &table.Row{Key: keys.At(keys.Raw(k), keys.Raw("r"))})
		noError(t, err)
	}
	w := o.worker(t, fastPolling())
	drain(t, w)
	testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 3, Completed: 3, Effects: 3})
	o.expectPoison(t)
}
