package main

import (
	"go/parser"
	"go/token"
	"testing"
)

// TestInitializers: in the product, the initializer of an if or switch belongs to its condition. A change of state stands on a line of
// its own.
func TestInitializers(t *testing.T) {
	t.Chdir("../..")
	h, err := product()
	if err != nil {
		t.Fatal(err)
	}
	if len(h.lengths) < 100 {
		t.Errorf("got %d files of the product; want at least 100", len(h.lengths))
	}
	for _, at := range h.initializers {
		t.Errorf("%v: got an initializer whose condition is about something else; want two statements", at)
	}
}

// TestForeignInitializers: which initializers the test above finds.
func TestForeignInitializers(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{
		"if err := f(); err != nil {}":                 0,
		"if n++; n > 1 {}":                             0,
		"if n++; err != nil {}":                        1,
		"if last = err; !wait() {}":                    1,
		"if x.a = 1; x.a > y {}":                       0,
		"if x.a = 1; x.b > y {}":                       1,
		"switch err := f(); {case errors.Is(err, e):}": 0,
		"switch a, b = nil, 1; {case c:}":              1,
		"switch m.kind {}":                             0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc _() {\n"+code+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(foreignInitializers(f)); got != want {
			t.Errorf("%s: got %d; want %d", code, got, want)
		}
	}
}
