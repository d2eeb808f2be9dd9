package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestPoison: messages that workers have made poison are listed, dropped and replayed.
func TestPoison(t *testing.T) {
	ctx := context.Background()
	server, acc := onEnv(t)
	type article struct {
		Section string
		ID      int
	}
	site := aztablekit.Open(acc, "site", nil)
	section := keys.Partition(keys.Text(), func(a *article) *string { return &a.Section })
	number := keys.Row(keys.Digits[int](6), func(a *article) *int { return &a.ID })
	failing := eventual.On("search", func(*eventual.Change[article]) (struct{}, bool) { return struct{}{}, true },
		func(context.Context, eventual.Job, struct{}) error { return eventual.Poison(nil) })
	articles := aztablekit.Table(site, "articles", section, number, failing)
	if err := site.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := articles.Insert(ctx, &article{"News", i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := site.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	listed := string(run(t, "-on", "env", "poison", "list", "site-poison"))
	ops := regexp.MustCompile(`[0-9A-Z]{26}`).FindAllString(listed, -1)
	if len(ops) != 3 || strings.Count(listed, "articles News") != 3 || strings.Count(listed, "search: handler after 1 attempts") != 3 || !strings.HasSuffix(listed, "3 messages in site-poison\n") {
		t.Fatalf("list: got\n%s\nwant three messages of kind search, of articles in News", listed)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"drop", "site-poison", ops[0]}, "1 messages dropped from site-poison\n"},
		{[]string{"replay", "site-poison", "site-writes", ops[1]}, "1 messages replayed from site-poison to site-writes\n"},
		{[]string{"replay", "site-poison", "site-writes"}, "1 messages replayed from site-poison to site-writes\n"},
		{[]string{"drop", "site-poison"}, "0 messages dropped from site-poison\n"},
	} {
		if got := string(run(t, append([]string{"-on", "env", "poison"}, c.args...)...)); got != c.want {
			t.Errorf("%v: got %q, want %q", c.args, got, c.want)
		}
	}
	if n := len(server.Messages("site-writes")); n != 2 {
		t.Errorf("got %d notifications, want the 2 that were replayed", n)
	}
}

// TestPoisonForged: a forged message cannot control the terminal or imitate a line of the output.
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
			t.Errorf("%q: got the character %q in the output, want it quoted:\n%s", words, got[i], got)
		}
		want := 1
		if words[0] == "list" {
			want = 8
		}
		if lines := strings.Count(got, "\n"); lines != want {
			t.Errorf("%q: got %d lines, want %d:\n%s", words, lines, want, got)
		}
	}
}

// onEnv starts a service in memory at a port, and makes it the account of the environment.
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
