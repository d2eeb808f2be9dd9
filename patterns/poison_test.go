package main

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestPoison: what workers have given up is listed, dropped and replayed.
func TestPoison(t *testing.T) {
	ctx := context.Background()
	server, acc := onEnv(t)
	plain, err := table.New(acc.Tables(), "articles", articles, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := eventual.NewOutbox(acc.Queue("hints"), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := plain.With(out, eventual.OnChange("search", Due))
	if err != nil {
		t.Fatal(err)
	}
	never := eventual.NewHandler("search", plain, func(context.Context, eventual.Job, struct{}) error { return eventual.Poison(nil) })
	w, err := eventual.NewWorker(acc.Queue("hints"), acc.Queue("poison"), []eventual.Handler{never}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(plain.Ensure(ctx), w.Ensure(ctx)); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := insert(ctx, all, &Article{"News", i, "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	listed := string(run(t, "-on", "env", "poison", "list", "poison"))
	ops := regexp.MustCompile(`[0-9A-Z]{26}`).FindAllString(listed, -1)
	if len(ops) != 3 || strings.Count(listed, "articles News") != 3 || strings.Count(listed, "search: handler after 1 attempts") != 3 || !strings.HasSuffix(listed, "3 messages in poison\n") {
		t.Fatal(listed)
	}
	for _, c := range []struct {
		words []string
		says  string
	}{
		{[]string{"drop", "poison", ops[0]}, "1 messages dropped from poison\n"},
		{[]string{"replay", "poison", "hints", ops[1]}, "1 messages from poison to hints\n"},
		{[]string{"replay", "poison", "hints"}, "1 messages from poison to hints\n"},
		{[]string{"drop", "poison"}, "0 messages dropped from poison\n"},
	} {
		if got := string(run(t, append([]string{"-on", "env", "poison"}, c.words...)...)); got != c.says {
			t.Errorf("%v: %s", c.words, got)
		}
	}
	if n := len(server.Messages("hints")); n != 2 {
		t.Error(n)
	}
}

// TestPoisonForged: whatever others have put into the queues, nothing of it reaches the terminal as it is.
func TestPoisonForged(t *testing.T) {
	ctx := context.Background()
	_, acc := onEnv(t)
	if _, err := acc.Queue("poison").Create(ctx, nil); err != nil {
		t.Fatal(err)
	}
	const bad, op = `\u001b]0;owned\u0007\u001b[2J\u009b2J\u202e\r\n0 messages in poison\u2028`, `01K00000000000000000000000`
	const good = `{\"v\":1,\"table\":\"staff\",\"partition\":\"S\u202e\",\"op\":\"` + op + `\"}`
	double := strings.ReplaceAll(bad, `\`, `\\`)
	for _, text := range []string{
		"\x1b[2J\u009b2J", `{"v":1,"table":"` + bad + `","partition":"p","op":"` + op + `"}`, `{"v":1,"table":"staff","partition":"p\u202e","op":"` + op + `"}`, `{"v":1,"table":"staff","partition":"p","op":"` + bad + `"}`,
		`{"v":1,"class":"` + bad + `","kind":"` + bad + `","attempts":-1,"time":"0001-01-01T00:00:00Z","message":"` + bad + `"}`,
		`{"v":1,"class":"x y","kind":"` + bad + `","message":"` + good + `"}`,
		`{"v":1,"class":"c","message":"{\"v\":1,\"table\":\"` + double + `\",\"partition\":\"` + double + `\",\"op\":\"` + double + `\"}"}`,
	} {
		if _, err := acc.Queue("poison").EnqueueMessage(ctx, text, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range [][]string{{"list", "poison"}, {"replay", "poison", "poison"}, {"drop", "poison", "\x1b"}, {"drop", "poison"}} {
		got := string(run(t, append([]string{"-on", "env", "poison"}, words...)...))
		if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }); i >= 0 {
			t.Errorf("%q reaches the terminal in %q", got[i], got)
		}
		if lines := strings.Count(got, "\n"); words[0] == "list" && lines != 8 || words[0] != "list" && lines != 1 {
			t.Errorf("%q: %d lines", got, lines)
		}
	}
}

// onEnv is a service at a port, as the account of the environment.
func onEnv(t *testing.T) (*storagetest.Service, *account.Account) {
	t.Helper()
	server := storagetest.New(nil)
	cs, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", cs)
	acc, err := account.FromConnectionString(cs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return server, acc
}
