package table

import (
	"errors"
	"reflect"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
)

// TestPassRefused: each field of a pass is refused by its name if the call does not use it, and
// accepted if it does; Progress is used by all.
func TestPassRefused(t *testing.T) {
	t.Parallel()
	set := Pass{
		Partitions:  keys.RawPartition("a").Point(),
		Token:       "t",
		Rate:        1,
		Concurrency: 1,
		DryRun:      true,
		Skip:        func(keys.Key, error) bool { return true },
		Progress:    func(Progress) {},
	}
	all := reflect.ValueOf(set)
	for i := range all.NumField() {
		name := all.Type().Field(i).Name
		if all.Field(i).IsZero() {
			t.Errorf("%s: want the test to set it", name)
		}
		var p Pass
		reflect.ValueOf(&p).Elem().Field(i).Set(all.Field(i))
		if err := checkPass(&p, name); err != nil {
			t.Errorf("%s, used: got %v; want no error", name, err)
		}
		if name == "Progress" {
			continue
		}
		var ve *ValueError
		if err := checkPass(&p); !errors.As(err, &ve) || ve.Field != "Pass."+name {
			t.Errorf("%s, not used: got %v; want a *ValueError for Pass.%s", name, err, name)
		}
	}
	for _, p := range []Pass{{Rate: -1}, {Concurrency: -1}} {
		var ve *ValueError
		if err := checkPass(&p, "Rate", "Concurrency"); !errors.As(err, &ve) {
			t.Errorf("%+v: got %v; want a *ValueError", p, err)
		}
	}
}
