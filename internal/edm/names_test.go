package edm

import (
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// TestNames checks the rules for the names of properties.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"a", "_", "_private", "Größe", "日本", "a1", "aͤ", "id", "ETag", "timestamp", strings.Repeat("x", 255), strings.Repeat("é", 255)} {
		if err := CheckName(ok); err != nil {
			t.Errorf("%q: got %v, want no error", ok, err)
		}
	}
	for _, bad := range []string{"", "1a", "a-b", "a b", "a.b", "odata.etag", "odata.x", "X@odata.type", "a/b", "a'b", "$a", "a\x00", "a\xff", "😀",
		"PartitionKey", "RowKey", "Timestamp", "_op", "_life", "_ix", "_type", "_v", "_sys"} {
		var ve *errs.ValueError
		if err := CheckName(bad); !errors.As(err, &ve) || ve.Reason == "" {
			t.Errorf("%q: got %v, want a *ValueError with a reason", bad, err)
		}
	}
	var le *errs.LimitError
	for _, long := range []string{strings.Repeat("x", 256), strings.Repeat("x", 254) + "𝒳"} {
		if err := CheckName(long); !errors.As(err, &le) || le.Got != 256 || le.Max != 255 {
			t.Errorf("got %v, want a *LimitError: 256 of at most 255", err)
		}
	}
	if IsSystem("_opx") || IsSystem("op") || IsSystem("") || IsSystem("_op _life") || !IsSystem("_op") || !IsSystem("_sys") {
		t.Error("IsSystem: want true for _op and _sys only")
	}
}
