package eventual_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
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
		"not JSON":             {text: "hello", poison: "undecodable"},
		"empty":                {text: " ", poison: "undecodable"},
		"JSON of another kind": {text: `{"order":17}`, poison: "undecodable"},
		"a list":               {text: `[1,2]`, poison: "undecodable"},
		"base64 of nothing":    {text: "aGVsbG8=", poison: "undecodable"},
		"no operation":         {text: `{"v":1,"table":"staff","partition":"S"}`, poison: "undecodable"},
		"clean-up":             {text: `{"v":1,"table":"staff","partition":"S","hour":"2026-01-01T00:00:00Z"}`}, // due at any time
		"bad operation":        {text: message("staff", "S", "' or 1 eq 1"), poison: "undecodable"},
		"escape in a table":    {text: `{"v":1,"table":"staff\u001b[2J","partition":"S","op":"` + fresh + `"}`, poison: "undecodable"},
		"invalid table":        {text: message("a-b", "S", fresh), poison: "undecodable"},
		"short table":          {text: message("ab", "S", fresh), poison: "undecodable"},
		"long table":           {text: message(strings.Repeat("a", 64), "S", fresh), poison: "undecodable"},
		"short operation":      {text: message("staff", "S", fresh[1:]), poison: "undecodable"},
		"escape in operation":  {text: `{"v":1,"table":"payroll","partition":"S","op":"\u001b[2J` + fresh[4:] + `"}`, poison: "undecodable"},
		"bad, foreign table":   {text: message("payroll", "S", "x"), poison: "undecodable"},
		"bad hour":             {text: `{"v":1,"table":"staff","partition":"S","hour":"\u001b[2J"}`, poison: "undecodable"},
		"empty partition":      {text: message("staff", "", fresh), poison: "undecodable"},
		"bad partition":        {text: `{"v":1,"table":"staff","partition":"a/b","op":"` + fresh + `"}`, poison: "undecodable"},
		"foreign table":        {text: message("payroll", "S", fresh), defers: true},
		"later version":        {text: `{"v":2,"tables":["staff"],"what":"ever"}`, defers: true},
		"old operation":        {text: message("staff", "S", operationIDAt(time.Now().Add(-25*time.Hour))), poison: "expired"},
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
				if c.poison == "undecodable" {
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

// participantNames returns the names of n other partitions as in a message. # stands for a number of 3 digits.
func participantNames(n int, form string) string {
	var names []string
	for i := range n {
		names = append(names, strings.ReplaceAll(form, "#", fmt.Sprintf("%03d", i)))
	}
	return strings.Join(names, ",")
}

// TestForgedParticipants: a message may name the partitions that one write can have. One that names more, or places that no write has, is
// damaged. If it names a few, a worker makes sure that a late request prepares nothing there; in more, it only reads a row.
func TestForgedParticipants(t *testing.T) {
	t.Parallel()
	const named = `{"table":"staff","partition":"P#"}`
	for name, c := range map[string]struct {
		n        int
		form     string
		rows     int // an abort record and one for each partition
		requests string
	}{
		"too many":        {326, `{"table":"staff","partition":"#"}`, 0, "none"},
		"twice":           {2, `{"table":"staff","partition":"P"}`, 0, "none"},
		"its own":         {1, `{"table":"STAFF","partition":"S"}`, 2, "5 get, 1 insert, 1 transaction"}, // which a transaction may reserve rows in
		"no table":        {1, `{"table":"tables","partition":"P"}`, 0, "none"},
		"no key":          {1, `{"table":"staff","partition":"P/"}`, 0, "none"},
		"one":             {1, named, 2, "5 get, 1 insert, 1 transaction"},
		"the most of few": {24, named, 25, "51 get, 1 insert, 24 transaction"},
		"more":            {25, named, 1, "28 get, 1 insert"},
		"the most":        {325, `{"table":"staff","partition":"#"}`, 1, "328 get, 1 insert"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, s := newOffice(t, noPauses())
			o.put(t, "notifications", fmt.Sprintf(`{"v":1,"table":"staff","partition":"S","op":%q,"remotes":[%s]}`, operationIDAt(time.Now()), participantNames(c.n, c.form)))
			s.Count()
			w := o.worker(t, fastPolling())
			drain(t, w)
			counted := s.Count()
			for _, kind := range []requests.Kind{kinds.MessageGet, kinds.MessageDelete, kinds.MessagePut} {
				delete(counted, kind)
			}
			testkit.Expect(t, "requests to tables", counted.String(), c.requests)
			testkit.Expect(t, "rows", len(s.Rows("staff")), c.rows)
			testkit.Expect(t, "messages left", len(s.Messages("notifications")), 0)
			if c.rows == 0 {
				o.expectPoison(t, "undecodable")
			} else {
				o.expectPoison(t)
			}
		})
	}
}

// crashedMove moves clerk 1 from S to M by a program that crashes before its n-th transaction: the first prepares, the second commits,
// the third finishes.
func crashedMove(t testing.TB, o *office, s *storagetest.Service, n int) {
	t.Helper()
	ctx := context.Background()
	o.insert(t, clerk{"S", 1, "Jones"})
	drain(t, o.worker(t, fastPolling()))
	p, _ := newProcess(s)
	writer := officeOn(t, s, p, noPauses())
	e, err := writer.staff.Get(ctx, at("S", 1))
	noError(t, err)
	transactions := 0
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == requests.Transaction {
			if transactions++; transactions == n {
				p.crash()
				return storagetest.NotSent()
			}
		}
		return storagetest.Fault{}
	})
	e.Value.Dept = "M"
	_ = writer.staff.Move(ctx, e)
	s.SetFaults(nil)
	testkit.Expect(t, "prepared", storedStates(s, "~t|"), "M pending")
}

// TestManyParticipants: a worker rolls back what a write has prepared, also if its message names many partitions.
func TestManyParticipants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		crashedMove(t, o, s, 2)
		text := s.Messages("notifications")[0].Text
		o.clear(t, "notifications")
		o.put(t, "notifications", strings.Replace(text, `"remotes":[`, `"remotes":[`+participantNames(30, `{"table":"staff","partition":"P#"}`)+",", 1))
		drain(t, o.worker(t, fastPolling()))
		testkit.Expect(t, "prepared", storedStates(s, "~t|"), "M over")
		testkit.Expect(t, "messages left", len(s.Messages("notifications")), 0)
		o.expectPoison(t)
		_, err := o.staff.Get(context.Background(), at("S", 1))
		noError(t, err)
	})
}

// TestForgedHome: a message that names a write in another partition than its own stores an abort record there. The clean-up of that
// record deletes nothing of the write, which may not have ended yet.
func TestForgedHome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := newOffice(t, noPauses())
		crashedMove(t, o, s, 3)
		text := s.Messages("notifications")[0].Text
		o.clear(t, "notifications")
		o.put(t, "notifications", strings.Replace(text, `"partition":"S"`, `"partition":"Z"`, 1))
		drain(t, o.worker(t, fastPolling()))
		testkit.Expect(t, "messages left", len(s.Messages("notifications")), 0)
		time.Sleep(26 * time.Hour)
		s.Count()
		deleted, err := baretest.SweepRecords(ctx, o.staff, dept.Of("Z"))
		noError(t, err)
		testkit.Expect(t, "records deleted", deleted, 1)
		testkit.Expect(t, "prepared", storedStates(s, "~t|"), "M pending")
		_, err = o.staff.Get(ctx, at("M", 1))
		noError(t, err)
	})
}

// TestEncodings: a worker reads messages in plain text and in base64, as other clients write them, with any characters in keys.
func TestEncodings(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, d := range []string{"S", "Größe & <more> 'quoted' \"twice\"", "日本語 😀", "a%b"} {
		o, s := newOffice(t, noPauses())
		raw, err := bare.NewTable(o.acc.Tables(), "staff", table.Schema[table.Row]{}, nil)
		noError(t, err)
		raw, err = baretest.WithOutbox(raw, o.out, bare.OnChange("letter", func(c *extend.Change[table.Row]) (letter, bool) { return letter{1, "Jones"}, true }))
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
	rows, err := bare.NewTable(o.acc.Tables(), "staff", table.Schema[table.Row]{}, nil)
	noError(t, err)
	rows, err = baretest.WithOutbox(rows, o.out, bare.OnChange("letter", func(c *extend.Change[table.Row]) (letter, bool) { return letter{1, "x"}, true }))
	noError(t, err)
	for _, k := range []string{"A" + strings.Repeat("中", 511), strings.Repeat("x", 512), "A" + strings.Repeat("😀", 255)} {
		_, err := rows.Insert(ctx, &table.Row{Key: keys.At(keys.RawPartition(k), keys.RawRow("r"))})
		noError(t, err)
	}
	w := o.worker(t, fastPolling())
	drain(t, w)
	testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 3, Completed: 3, Effects: 3})
	o.expectPoison(t)
}
