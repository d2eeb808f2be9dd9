package bloblog_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/storagetest"
)

// rawLog returns a log whose records are the lines themselves.
func rawLog(t testing.TB) (*bloblog.Log[[]byte], *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	raw := bloblog.New(&host.Host{Account: acc}, "logs", &bloblog.Options[[]byte]{
		Encode: func(v *[]byte) ([]byte, error) { return *v, nil },
		Decode: func(line []byte, v *[]byte) error { *v = bytes.Clone(line); return nil },
	})
	noError(t, raw.Ensure(context.Background()))
	return raw, s
}

// FuzzWrite: any bytes through Write are stored as they are, besides line breaks, and are read as the same lines.
func FuzzWrite(f *testing.F) {
	for _, text := range []string{"", "a", "a\n", "a\nb", "a\r\nb\r\n\r\n\n", "\r", "\r\r\n", "\x00\xff\n\u2028", "\n\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		ctx := context.Background()
		raw, s := rawLog(t)
		w, err := raw.Writer("lines")
		noError(t, err)
		n, err := w.Write(p)
		noError(t, err)
		testkit.Expect(t, "n", n, len(p))
		noError(t, w.Close(ctx))
		var want []string
		content := ""
		for line := range strings.SplitSeq(string(p), "\n") {
			if read := strings.TrimSuffix(line, "\r"); read != "" {
				want, content = append(want, read), content+line+"\n"
			}
		}
		var got []string
		for r, err := range raw.Between(ctx, "lines", time.Time{}, time.Time{}) {
			noError(t, err)
			got = append(got, string(r.Value))
		}
		testkit.Expect(t, "lines", fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
		if blobs := s.StoredBlobs("logs"); len(blobs) > 0 {
			testkit.Expect(t, "content", fmt.Sprintf("%q", blobs[0].Content()), fmt.Sprintf("%q", content))
		}
	})
}

// TestAnyRecord: a record of any text is read as it was appended, or, if it is no single line, is refused.
func TestAnyRecord(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		l, _ := newLog(t, nil)
		w := newWriter(t, l, "orders")
		var want []string
		for _, text := range rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\n", "\r\n", "\u2028", "\x00", "a\nb\r", `\n`})), 0, 20).Draw(rt, "texts") {
			if !utf8.ValidString(text) {
				continue // JSON has no such text
			}
			noError(rt, w.Append(ctx, &event{Text: text}))
			want = append(want, text)
			if rapid.Bool().Draw(rt, "flush") {
				noError(rt, w.Flush(ctx))
			}
		}
		noError(rt, w.Close(ctx))
		var got []string
		for r, err := range between(l) {
			noError(rt, err)
			got = append(got, r.Value.Text)
		}
		testkit.Expect(rt, "texts", fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
	})
}

// TestAnyLine: with a line format of its own, any bytes are read as they were appended, or refused.
func TestAnyLine(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		raw, _ := rawLog(t)
		w, err := raw.Writer("lines")
		noError(rt, err)
		var want []string
		for _, line := range rapid.SliceOf(rapid.SliceOf(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("\r\n"))))).Draw(rt, "lines") {
			bad := len(line) == 0 || bytes.ContainsRune(line, '\n') || line[len(line)-1] == '\r'
			if err := w.Append(ctx, &line); (err != nil) != bad {
				rt.Fatalf("line %q: got error %v; want one: %v", line, err, bad)
			}
			if !bad {
				want = append(want, string(line))
			}
		}
		noError(rt, w.Close(ctx))
		var got []string
		for r, err := range raw.Between(ctx, "lines", time.Time{}, time.Time{}) {
			noError(rt, err)
			got = append(got, string(r.Value))
		}
		testkit.Expect(rt, "lines", fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
	})
}
