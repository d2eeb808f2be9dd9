package eventual_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestUntrusted: what others put into the queue. Nothing of it makes a worker do anything but what is due anyway.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fresh := opAt(time.Now())
	message := func(tab, partition, op string) string {
		return fmt.Sprintf(`{"v":1,"table":%q,"partition":%q,"op":%q}`, tab, partition, op)
	}
	for what, c := range map[string]struct {
		text   string
		poison string
		later  bool
	}{
		"not JSON":             {text: "hello", poison: eventual.ClassUndecodable},
		"empty":                {text: " ", poison: eventual.ClassUndecodable},
		"JSON of another kind": {text: `{"order":17}`, poison: eventual.ClassUndecodable},
		"a list":               {text: `[1,2]`, poison: eventual.ClassUndecodable},
		"base64 of nothing":    {text: "aGVsbG8=", poison: eventual.ClassUndecodable},
		"no operation":         {text: `{"v":1,"table":"staff","partition":"S"}`, poison: eventual.ClassUndecodable},
		"of an hour":           {text: `{"v":1,"table":"staff","partition":"S","hour":"2026-01-01T00:00:00Z"}`}, // which asks for what is due
		"bad operation":        {text: message("staff", "S", "' or 1 eq 1"), poison: eventual.ClassUndecodable},
		"escape in a table":    {text: `{"v":1,"table":"staff\u001b[2J","partition":"S","op":"` + fresh + `"}`, poison: eventual.ClassUndecodable},
		"no table's name":      {text: message("a-b", "S", fresh), poison: eventual.ClassUndecodable},
		"a short table's name": {text: message("ab", "S", fresh), poison: eventual.ClassUndecodable},
		"a long table's name":  {text: message(strings.Repeat("a", 64), "S", fresh), poison: eventual.ClassUndecodable},
		"short operation":      {text: message("staff", "S", fresh[1:]), poison: eventual.ClassUndecodable},
		"escape in operation":  {text: `{"v":1,"table":"payroll","partition":"S","op":"\u001b[2J` + fresh[4:] + `"}`, poison: eventual.ClassUndecodable},
		"operation elsewhere":  {text: message("payroll", "S", "x"), poison: eventual.ClassUndecodable},
		"no hour":              {text: `{"v":1,"table":"staff","partition":"S","hour":"\u001b[2J"}`, poison: eventual.ClassUndecodable},
		"empty partition":      {text: message("staff", "", fresh), poison: eventual.ClassUndecodable},
		"bad partition":        {text: `{"v":1,"table":"staff","partition":"a/b","op":"` + fresh + `"}`, poison: eventual.ClassUndecodable},
		"foreign table":        {text: message("payroll", "S", fresh), later: true},
		"later version":        {text: `{"v":2,"tables":["staff"],"what":"ever"}`, later: true},
		"old operation":        {text: message("staff", "S", opAt(time.Now().Add(-25*time.Hour))), poison: eventual.ClassExpired},
		"of a time to come":    {text: message("staff", "S", opAt(time.Now().Add(48*time.Hour))), poison: eventual.ClassUndecodable},
		"never committed":      {text: message("staff", "S", fresh)},
		"other case":           {text: message("STAFF", "S", fresh)},
		"forged counts":        {text: `{"v":1,"table":"staff","partition":"S","op":"` + fresh + `","uncounted":-5,"since":"2999-01-01T00:00:00Z"}`},
		"oversized":            {text: message("staff", "S", fresh) + strings.Repeat(" ", 60_000)},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			o, s := opened(t, quick())
			put(o, c.text)
			before := len(s.Rows("staff"))
			w := o.worker(options())
			check(w.Drain(ctx))
			stats := w.Stats()
			switch left := s.Messages("notifications"); {
			case c.later:
				if len(left) != 1 || stats.Deferred != 1 || left[0].Visible.Before(s.Now().Add(20*time.Second)) {
					t.Error(left, stats)
				}
			case len(left) != 0:
				t.Error(left)
			}
			buried := poisonOf(t, o)
			if c.poison != "" && (len(buried) != 1 || buried[0].Class != c.poison || strings.TrimSpace(buried[0].Text) != strings.TrimSpace(c.text)) || c.poison == "" && len(buried) > 0 {
				t.Errorf("%+v", buried)
			}
			if c.poison == eventual.ClassUndecodable && what != "of a time to come" && buried[0].Table+buried[0].Partition+buried[0].OperationID != "" {
				t.Errorf("it is read all the same: %+v", buried[0])
			}
			if n := len(s.Rows("staff")) - before; n > 1 || n == 1 && (c.poison != "" || c.later) {
				t.Errorf("%d rows are written", n) // at most a marker
			}
			if len(s.Rows("sent")) > 0 {
				t.Error("an effect is carried out that nobody has committed")
			}
		})
	}
}

// TestEncodings: messages as other clients write them, plain or in base64, with characters of all sorts.
func TestEncodings(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, d := range []string{"S", "Größe & <more> 'quoted' \"twice\"", "日本語 😀", "a%b"} {
		o, s := opened(t, quick())
		raw, err := table.New(o.acc.Tables(), "staff", table.Schema[table.Row]{}, nil)
		check(err)
		raw, err = raw.With(o.out, eventual.OnChange("letter", func(c *table.Change[table.Row]) (letter, bool) { return letter{1, "Jones"}, true }))
		check(err)
		// As others may have written it, under a key that this library would not make.
		_, err = o.acc.Tables().NewClient("staff").AddEntity(ctx, []byte(fmt.Sprintf(`{"PartitionKey":%q,"RowKey":"r"}`, d)), nil)
		check(err)
		e, err := raw.Get(ctx, rawKey(d))
		check(err)
		check(raw.Replace(ctx, e))
		m := s.Messages("notifications")[0]
		for _, c := range m.Text {
			if c >= 0x7F || c < ' ' {
				t.Errorf("%q in a message", c)
			}
		}
		put(o, base64.StdEncoding.EncodeToString([]byte(m.Text)))
		put(o, "\n "+m.Text+"\n")
		opt := options()
		opt.Concurrency = 1
		w := o.worker(opt)
		check(w.Drain(ctx))
		if got := w.Stats(); got.Done != 3 || got.Effects != 1 || len(s.Rows("sent")) != 1 {
			t.Error(d, got)
		}
	}
}

// TestLongKeys: a partition whose key is as long as it can be.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	rows, err := table.New(o.acc.Tables(), "staff", table.Schema[table.Row]{}, nil)
	check(err)
	rows, err = rows.With(o.out, eventual.OnChange("letter", func(c *table.Change[table.Row]) (letter, bool) { return letter{1, "x"}, true }))
	check(err)
	for _, k := range []string{"A" + strings.Repeat("中", 511), strings.Repeat("x", 512), "A" + strings.Repeat("😀", 255)} {
		_, err := rows.Insert(ctx, &table.Row{Key: keys.At(keys.Raw(k), keys.Raw("r"))})
		check(err)
	}
	w := o.worker(options())
	check(w.Drain(ctx))
	if got := w.Stats(); got.Done != 3 || got.Effects != 3 || len(s.Messages("poison")) > 0 {
		t.Error(got)
	}
}
