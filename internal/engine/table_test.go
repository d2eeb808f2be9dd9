package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

type addressed string

func (a addressed) URL() string { return string(a) }

// TestCheckClient: names that the service refuses are errors, wherever the account is.
func TestCheckClient(t *testing.T) {
	t.Parallel()
	const account, emulator = "https://a.queue.core.windows.net/", "http://127.0.0.1:10001/devstoreaccount1/"
	for name, ok := range map[string]bool{
		"abc": true, "a-b-c": true, "123": true, strings.Repeat("a", 63): true,
		"ab": false, strings.Repeat("a", 64): false, "Moves": false, "a--b": false, "-ab": false, "ab-": false, "a_b": false, "äöü": false, "$root": false,
	} {
		for _, base := range []string{account, emulator} {
			err := CheckClient("queue", "queue", addressed(base+name), false)
			var ve *errs.ValueError
			if (err == nil) != ok || err != nil && (!errors.As(err, &ve) || ve.Field != "queue") {
				t.Errorf("name %q: got error %v, want one: %t", name, err, !ok)
			}
		}
		if err := CheckClient("queue", "queue", addressed(account+name+"?sv=2024&sig=x"), false); (err == nil) != ok {
			t.Errorf("name %q with a signature: got error %v, want one: %t", name, err, !ok)
		}
	}
	for _, name := range []string{"$root", "$web"} { // those of the service that programs may write
		if err := CheckClient("container", "container", addressed(account+name), false); err != nil {
			t.Errorf("container %s: got error %v", name, err)
		}
	}
	err := CheckClient("poison", "queue", addressed(account+"q"), false)
	if want := `poison has the name "q"; the service requires 3 to 63 characters of a-z, 0-9 and single hyphens between them`; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	if err := CheckClient("queue", "queue", addressed(account), false); err == nil {
		t.Error("no name: got no error")
	}
	if err := CheckClient("queue", "queue", struct{}{}, false); err != nil {
		t.Errorf("a client without an address: got error %v", err)
	}
	if err := CheckClient("queue", "queue", nil, true); err == nil {
		t.Error("nil: got no error")
	}
}

// TestDirectory: a directory of parts has two digits and a tag for each part, in the order of the
// numbers.
func TestDirectory(t *testing.T) {
	t.Parallel()
	const tag = "abcdefgh"
	for text, valid := range map[string]bool{
		"01" + tag: true, "98" + tag: true, "01" + tag + "02" + tag: true, "09" + tag + "10" + tag: true,
		"00" + tag: false, "99" + tag: false, "02" + tag + "01" + tag: false, "01" + tag + "01" + tag: false, "01" + tag + "x": false,
		"/9" + tag: false, ":0" + tag: false, "1/" + tag: false, "0:" + tag: false, "+1" + tag: false, "-1" + tag: false, " 1" + tag: false,
	} {
		d, err := directoryIn([]edm.Column{{Name: reserved.Parts, Value: edm.Value{Kind: edm.String, S: text}}})
		if (err == nil) != valid || valid && d.String() != text {
			t.Errorf("directory %q: got %q and error %v; want it to be valid: %v", text, d, err, valid)
		}
	}
}
