package odata

import (
	"reflect"
	"testing"
	"unicode/utf8"
)

// FuzzObject: the short way of reading an object reads what the general one reads.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"b":"x", "c" : true ,"d":null,"e":-1.5e+3}`, `{"a":01}`, `{"a":"\n"}`, `{"a":1,}`, `{"a":1}x`, `{"a":[1]}`, `{"a":tru}`, `{"a" 1}`, `{"é":"ü"}`, "{\"a\":\"\t\"}", `{"a":1 "b":2}`, `{,}`, `{"a":+1}`, "{}\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		short, ok := parsePlain(body)
		if !ok || !utf8.Valid(body) {
			return
		}
		general, valid := parseGeneral(body)
		if !valid || !reflect.DeepEqual(short, general) {
			t.Errorf("%s: got %v; want %v, %v", body, short, general, valid)
		}
	})
}
