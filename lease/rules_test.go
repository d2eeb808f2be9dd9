package lease_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestOptions: which options and names are refused, and how the error says so.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    lease.Options
		want string // of the error; "" for none
	}{
		{"leases", lease.Options{}, ""},
		{"leases", lease.Options{TTL: 3 * time.Second}, ""},
		{"leases", lease.Options{TTL: time.Hour}, ""},
		{"leases", lease.Options{Owner: strings.Repeat("é", 200)}, ""},
		{"x", lease.Options{}, "x"},
		{"leases", lease.Options{TTL: 2 * time.Second}, "Options.TTL"},
		{"leases", lease.Options{TTL: time.Hour + time.Second}, "Options.TTL"},
		{"leases", lease.Options{TTL: 3500 * time.Millisecond}, "Options.TTL"},
		{"leases", lease.Options{TTL: -time.Second}, "Options.TTL"},
		{"leases", lease.Options{Owner: strings.Repeat("a", 201)}, "Options.Owner"},
		{"leases", lease.Options{Owner: "\xff"}, "Options.Owner"},
	} {
		s := storagetest.New(nil)
		store := aztablekit.Open(s, "work", &aztablekit.Options{Daily: -1})
		leases := lease.New(store, c.name, &c.o)
		ensured := store.Ensure(t.Context())
		_, err := leases.Acquire(t.Context(), "a")
		var value *table.ValueError
		var limit *table.LimitError
		for _, err := range []error{ensured, err} {
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%+v: got error %v; want none", c, err)
			case c.want != "" && (!errors.As(err, &value) && !errors.As(err, &limit) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%+v: got error %v; want a *ValueError or a *LimitError about %s", c, err, c.want)
			}
		}
	}
	if _, err := lease.New(nil, "leases", nil).Acquire(t.Context(), "x"); !errors.As(err, new(*table.ValueError)) {
		t.Errorf("a nil store: got error %v; want a *ValueError", err)
	}
}

// TestNames: which names a lease can have.
func TestNames(t *testing.T) {
	t.Parallel()
	s, a, _ := inMemory(t, nil)
	for name, legal := range map[string]bool{
		"a": true, "A.b-c_9": true, strings.Repeat("a", 100): true,
		"": false, strings.Repeat("a", 101): false, "a b": false, "a|b": false, "a/b": false, "é": false, "~": false, "a\x00": false,
	} {
		held, err := a.leases.Acquire(t.Context(), name)
		raised := a.leases.Raise(t.Context(), name, 7)
		switch {
		case !legal && (!errors.As(err, new(*table.ValueError)) && !errors.As(err, new(*table.LimitError)) || raised == nil || s.Count().Total() > 0):
			t.Errorf("%q: got errors %v and %v; want a *ValueError or a *LimitError, and no request", name, err, raised)
		case legal && (err != nil || held.Name() != name):
			t.Errorf("%q: got error %v; want none", name, err)
		}
		s.Count()
	}
	err := a.leases.Elect(t.Context(), "a", nil)
	if !errors.As(err, new(*table.ValueError)) {
		t.Errorf("Elect without a function: got error %v; want a *ValueError", err)
	}
	testkit.NoError(t, a.leases.Raise(t.Context(), "last", 1<<63-4))
	held, err := a.leases.Acquire(t.Context(), "last")
	testkit.NoError(t, err)
	testkit.Expect(t, "the greatest fence", held.Fence(), int64(1<<63-2))
	testkit.NoError(t, held.Release(t.Context()))
	if _, err := a.leases.Acquire(t.Context(), "last"); !errors.As(err, new(*table.LimitError)) {
		t.Errorf("behind the greatest fence: got error %v; want a *LimitError", err)
	}
	for _, above := range []int64{-1, 1<<63 - 2, 1<<63 - 1} {
		if err := a.leases.Raise(t.Context(), "b", above); !errors.As(err, new(*table.ValueError)) {
			t.Errorf("Raise above %d: got error %v; want a *ValueError", above, err)
		}
	}
}

// TestIn: what cannot be entered.
func TestIn(t *testing.T) {
	t.Parallel()
	s, a, _ := inMemory(t, nil)
	held, err := a.leases.Acquire(t.Context(), "x")
	testkit.NoError(t, err)
	s.Count()
	_, err = held.In(t.Context(), nil, group.Of("S"))
	if !errors.As(err, new(*table.ValueError)) {
		t.Errorf("a nil table: got error %v; want a *ValueError", err)
	}
	_, err = held.In(t.Context(), a.registers, keys.PartitionKey{})
	if !errors.As(err, new(*keys.KeyError)) {
		t.Errorf("a zero key: got error %v; want a *KeyError", err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
	g, err := held.In(t.Context(), a.registers, group.Of("T"))
	testkit.NoError(t, err)
	e, err := a.registers.Get(t.Context(), registerKey())
	testkit.NoError(t, err)
	_, err = table.Transact(t.Context(), g.Guard(), a.registers.ReplaceOp(e))
	expectIs(t, "a guard of another partition", err, errs.ErrOtherPartition)
	s.Count()
	_, err = table.Bulk(t.Context(), func(yield func(table.Op, error) bool) { yield(g.Guard(), nil) }, nil)
	if !errors.As(err, new(*table.ValueError)) {
		t.Errorf("Bulk with a guard: got error %v; want a *ValueError", err)
	}
	testkit.Expect(t, "requests of Bulk with a guard", s.Count().String(), "none")
	_, err = table.Transact(t.Context(), g.Guard())
	testkit.NoError(t, err) // alone it asks whether the holder is still the last one that has entered
}

// forge stores a row of a lease as another program might.
func forge(t *testing.T, s *storagetest.Service, tableName, json string) {
	t.Helper()
	_, err := s.Tables().NewClient(tableName).UpsertEntity(t.Context(), []byte(json), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	testkit.NoError(t, err)
}

// TestForgedRows: a row of a lease with other properties is an error that names one, and never a lease.
func TestForgedRows(t *testing.T) {
	t.Parallel()
	right := map[string]string{"Owner": `"Owner":"b"`, "Nonce": `"Nonce":"n"`, "Token": `"Token@odata.type":"Edm.Int64","Token":"7"`, "Seconds": `"Seconds@odata.type":"Edm.Int64","Seconds":"15"`, "Released": `"Released":true`}
	row := func(property, json string) string {
		text := `{"PartitionKey":"x","RowKey":"lease"`
		for name, is := range right {
			if name == property {
				is = json
			}
			if is != "" {
				text += "," + is
			}
		}
		return text + "}"
	}
	for _, c := range []struct{ property, json string }{
		{"Owner", ""}, {"Owner", `"Owner":1`},
		{"Nonce", ""}, {"Nonce", `"Nonce":true`},
		{"Token", ""}, {"Token", `"Token":7`}, {"Token", `"Token":"7"`},
		{"Token", `"Token@odata.type":"Edm.Int64","Token":"0"`}, {"Token", `"Token@odata.type":"Edm.Int64","Token":"-1"`}, {"Token", `"Token@odata.type":"Edm.Int64","Token":"9223372036854775807"`},
		{"Seconds", ""}, {"Seconds", `"Seconds":15`},
		{"Seconds", `"Seconds@odata.type":"Edm.Int64","Seconds":"0"`}, {"Seconds", `"Seconds@odata.type":"Edm.Int64","Seconds":"-5"`}, {"Seconds", `"Seconds@odata.type":"Edm.Int64","Seconds":"3601"`},
		{"Seconds", `"Seconds@odata.type":"Edm.Int64","Seconds":"9223372036854775807"`},
		{"Released", `"Released":"yes"`}, {"Released", `"Released":1`},
	} {
		s, a, _ := inMemory(t, nil)
		forge(t, s, "leases", row(c.property, c.json))
		_, err := a.leases.Acquire(t.Context(), "x")
		var decode *table.DecodeError
		if !errors.As(err, &decode) || decode.Field != c.property {
			t.Errorf("%s as %s: got error %v; want a *DecodeError about it", c.property, c.json, err)
		}
	}
	s, a, _ := inMemory(t, nil)
	forge(t, s, "leases", row("", ""))
	held, err := a.leases.Acquire(t.Context(), "x")
	testkit.NoError(t, err)
	testkit.Expect(t, "fence", held.Fence(), 8)

	s, a, _ = inMemory(t, nil)
	forge(t, s, "leases", row("Token", `"Token@odata.type":"Edm.Int64","Token":"9223372036854775806"`))
	_, err = a.leases.Acquire(t.Context(), "x")
	var limit *table.LimitError
	if !errors.As(err, &limit) || limit.Field != "Token" {
		t.Errorf("a lease with the greatest fence: got error %v; want a *LimitError about it", err)
	}
}

// TestForgedPartition: rows of a partition that have the keys of guards and are none are errors, and a greater fence is one that has entered.
func TestForgedPartition(t *testing.T) {
	t.Parallel()
	for json, want := range map[string]func(error) bool{
		`"RowKey":"~h|x|head"`:                                             func(err error) bool { return errors.As(err, new(*table.DecodeError)) },
		`"RowKey":"~h|x|head","Token":3`:                                   func(err error) bool { return errors.As(err, new(*table.DecodeError)) },
		`"RowKey":"~h|x|1"`:                                                func(err error) bool { return errors.As(err, new(*table.DecodeError)) },
		`"RowKey":"~h|x|tail"`:                                             func(err error) bool { return errors.As(err, new(*table.DecodeError)) },
		`"RowKey":"~h|x|-000000000000000007"`:                              func(err error) bool { return errors.As(err, new(*table.DecodeError)) },
		`"RowKey":"~h|x|0000000000000000007"`:                              func(err error) bool { return errors.As(err, new(*lease.RestoredError)) },
		`"RowKey":"~h|x|0000000000000000000"`:                              func(err error) bool { return err == nil }, // a smaller one is deleted
		`"RowKey":"~h|x|0000000000000000001"`:                              func(err error) bool { return err == nil }, // its own, without a head
		`"RowKey":"~h|y|head","Token":3`:                                   func(err error) bool { return err == nil }, // of another lease
		`"RowKey":"~h|x.z|0000000000000000009"`:                            func(err error) bool { return err == nil },
		`"RowKey":"~h|x|head","Token@odata.type":"Edm.Int64","Token":"-3"`: func(err error) bool { return errors.As(err, new(*table.DecodeError)) },
		`"RowKey":"~h|x|head","Token@odata.type":"Edm.Int64","Token":"7"`:  func(err error) bool { return errors.As(err, new(*lease.RestoredError)) },
		`"RowKey":"~h|x|head","Token@odata.type":"Edm.Int64","Token":"1"`:  func(err error) bool { return errors.As(err, new(*lease.RestoredError)) }, // of another acquisition
	} {
		s, a, _ := inMemory(t, nil)
		forge(t, s, registerName, `{"PartitionKey":"S",`+json+`}`)
		held, err := a.leases.Acquire(t.Context(), "x")
		testkit.NoError(t, err)
		g, err := held.In(t.Context(), a.registers, group.Of("S"))
		if !want(err) {
			t.Errorf("%s: got error %v; want another outcome", json, err)
		}
		if err == nil {
			testkit.NoError(t, a.add(t.Context(), g, held.Fence()))
		}
	}
}

// TestNoDate: without the date of the service, nobody knows how old a lease is, and Acquire does not guess.
func TestNoDate(t *testing.T) {
	t.Parallel()
	s, a, _ := inMemory(t, nil)
	_, err := a.leases.Acquire(t.Context(), "x")
	testkit.NoError(t, err)
	acc, err := account.FromTransport(dateless{s}, nil)
	testkit.NoError(t, err)
	_, err = open(acc, 0, nil).leases.Acquire(t.Context(), "x")
	if !errors.As(err, new(*table.DecodeError)) || !strings.Contains(err.Error(), "Date") {
		t.Errorf("got error %v; want a *DecodeError about the Date", err)
	}
}

// dateless takes the date from responses.
type dateless struct{ *storagetest.Service }

func (d dateless) Do(r *http.Request) (*http.Response, error) {
	resp, err := d.Service.Do(r)
	if resp != nil {
		resp.Header.Del("Date")
	}
	return resp, err
}

// TestRestored: a lease whose table was dropped and made again has small fences, and cannot enter a partition. The error says what to call, and then it can.
func TestRestored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storagetest.New(&storagetest.Options{NameReuseDelay: -1})
		a := open(s, 0, nil)
		testkit.NoError(t, a.store.Ensure(t.Context()))
		_, err := a.registers.Insert(t.Context(), &register{Group: "S", ID: 1})
		testkit.NoError(t, err)
		for range 3 {
			held, g := a.enter(t)
			testkit.NoError(t, a.add(t.Context(), g, held.Fence()))
			testkit.NoError(t, held.Release(t.Context()))
		}
		_, err = s.Tables().DeleteTable(t.Context(), "leases", nil)
		testkit.NoError(t, err)
		b := open(s, 0, nil)
		testkit.NoError(t, b.store.Ensure(t.Context()))
		for _, fence := range []int64{1, 2, 3} { // 3 is the fence of the last holder, which may still write with it
			held, err := b.leases.Acquire(t.Context(), "x")
			testkit.NoError(t, err)
			testkit.Expect(t, "fence", held.Fence(), fence)
			_, err = held.In(t.Context(), b.registers, group.Of("S"))
			var restored *lease.RestoredError
			if !errors.As(err, &restored) || restored.Entered != 3 || restored.Fence != fence || !strings.Contains(err.Error(), "Leases.Raise with 3") {
				t.Fatalf("got error %v; want a *RestoredError that names Raise and 3", err)
			}
			expectHeld(t, "Raise while it is held", b.leases.Raise(t.Context(), "x", 3))
			testkit.NoError(t, held.Release(t.Context()))
		}
		testkit.NoError(t, b.leases.Raise(t.Context(), "x", 3))
		held, g := b.enter(t)
		testkit.Expect(t, "fence", held.Fence(), 5)
		testkit.NoError(t, b.add(t.Context(), g, held.Fence()))
	})
}

// TestErrors: what the errors say.
func TestErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, a, b := inMemory(t, &lease.Options{Owner: "machine 7"})
		held, g := a.enter(t)
		_, err := b.leases.Acquire(t.Context(), "x")
		testkit.Expect(t, "held", err.Error(), `lease x: another holder has the lease: "machine 7", with fence 1; it ends in 16s unless it is renewed`)
		time.Sleep(18 * time.Second)
		b.enter(t)
		testkit.Expect(t, "over", held.Err().Error(), "lease x: the lease is lost, which was held with fence 1: it was not renewed in time")
		held.Believe()
		err = a.add(t.Context(), g, 1)
		expectIs(t, "overtaken", err, lease.ErrLost)
		if want := `lease x: the lease is lost, which was held with fence 1: a later holder has entered the partition "S" of table registers`; !strings.Contains(err.Error(), want) {
			t.Errorf("overtaken: got error %v; want %s", err, want)
		}
		if errors.Is(err, table.ErrNotFound) {
			t.Errorf("got error %v, which is ErrNotFound; want one that no program takes for a missing entity", err)
		}
		held.Fail(table.ErrUnreachable)
		with := held.Err()
		expectIs(t, "a failed renewal", with, lease.ErrLost)
		expectIs(t, "a failed renewal", with, table.ErrUnreachable)
		testkit.Expect(t, "a failed renewal", with.Error(), fmt.Sprint("lease x: the lease is lost, which was held with fence 1: it was not renewed in time; the last renewal failed: ", table.ErrUnreachable))
	})
}

// TestReleasedBeside: a partition with a greater fence is no proof of a restored table if the
// holder has released its lease meanwhile.
func TestReleasedBeside(t *testing.T) {
	t.Parallel()
	s, _, _ := inMemory(t, nil)
	forge(t, s, registerName, `{"PartitionKey":"S","RowKey":"~h|x|head","Token@odata.type":"Edm.Int64","Token":"7"}`)
	var held *lease.Lease
	acc, err := account.FromTransport(&testkit.Hooked{Service: s, BeforeRequest: func(r *http.Request) {
		if held != nil && r.Method == http.MethodGet && strings.Contains(r.URL.Path, registerName) {
			testkit.NoError(t, held.Release(t.Context()))
		}
	}}, nil)
	testkit.NoError(t, err)
	a := open(acc, 0, nil)
	testkit.NoError(t, a.store.Ensure(t.Context()))
	held, err = a.leases.Acquire(t.Context(), "x")
	testkit.NoError(t, err)
	_, err = held.In(t.Context(), a.registers, group.Of("S"))
	expectIs(t, "In", err, lease.ErrLost)
	if errors.As(err, new(*lease.RestoredError)) {
		t.Errorf("got %v; want no *RestoredError", err)
	}
}
