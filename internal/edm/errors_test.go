package edm

import (
	"reflect"
	"testing"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// TestErrorTexts checks that an error names the option, argument or property as the caller wrote it, the value and the rule.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{&errs.LimitError{Property: true, Field: "Bio", Limit: "UTF-16 units", Got: 40000, Max: 32768}, "property Bio has 40000 UTF-16 units; at most 32768 are allowed"},
		{&errs.LimitError{Limit: "properties of an entity", Got: 300, Max: 252}, "300 properties of an entity; at most 252 are allowed"},
		{&errs.LimitError{Field: "Query.PageSize", Limit: "rows; the service requires 1 to 1000", Got: 5000, Max: 1000}, "Query.PageSize has 5000 rows; the service requires 1 to 1000"},
		{&errs.LimitError{Field: `table name "hr"`, Limit: "characters; the service requires 3 to 63", Got: 2, Max: 63}, `table name "hr" has 2 characters; the service requires 3 to 63`},
		{&errs.ValueError{Field: "service", Reason: "is nil"}, "service is nil"},
		{&errs.ValueError{Field: "Query.Limit", Reason: "is -1"}, "Query.Limit is -1"},
		{&errs.ValueError{Field: "queue", Reason: "is nil"}, "queue is nil"},
		{&errs.ValueError{Field: "handlers[1]", Reason: "has no kind"}, "handlers[1] has no kind"},
		{&errs.ValueError{Property: true, Field: "Bio", Reason: "the text is not valid UTF-8"}, "property Bio: the text is not valid UTF-8"},
		{&errs.ValueError{Property: true, Field: "value", Reason: "is part of the key"}, "property value is part of the key"},
		{&errs.ValueError{Field: "n", Reason: "is not positive"}, "n is not positive"},
		{&errs.ValueError{Field: "operation ID", Reason: "is no operation ID"}, "operation ID is no operation ID"},
		{&errs.DecodeError{Field: "Age", Reason: "has the unknown type X"}, "property Age has the unknown type X"},
		{&errs.DecodeError{Reason: "has no value at byte 0 of 0"}, "the response has no value at byte 0 of 0"},
		{&errs.TypeError{Type: reflect.TypeFor[int](), Reason: "is not a struct"}, "int is not a struct"},
		{CheckName("a.b"), `property "a.b": a name may contain letters, digits and _, and must not begin with a digit; '.' is at byte 1`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}
