package eventual_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// TestNoSecrets: the log contains the text of a handler's error, and the poison queue does not.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var log bytes.Buffer
	o, s := newOffice(t, noPauses())
	o.insert(t, clerk{"S", 1, "Jones"})
	opt := fastPolling()
	opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
	opt.Attempts = 1
	drain(t, o.worker(t, opt, countingHandler(o, &calls, func(int64) error { return errors.New("the password is x") })))
	if got := s.Messages("poison"); len(got) != 1 || strings.Contains(got[0].Text, "password") {
		t.Errorf("poison messages: got %v, want 1 without the password", got)
	}
	for _, want := range []string{"level=ERROR", "poison", "password", "table=staff", "class=attempts", "kind=letter"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log: got %s, want a text with %q", log.String(), want)
		}
	}
}

// TestNoSignatures: the log contains a URL in a handler's error without its signature.
func TestNoSignatures(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var log bytes.Buffer
	o, _ := newOffice(t, noPauses())
	o.insert(t, clerk{"S", 1, "Jones"})
	opt := fastPolling()
	opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
	secret := &url.Error{Op: "Get", URL: "https://x.table.core.windows.net/staff?sv=1&sig=SECRET", Err: errors.New("timeout")}
	drain(t, o.worker(t, opt, countingHandler(o, &calls, func(int64) error { return secret })))
	if strings.Contains(log.String(), "SECRET") || !strings.Contains(log.String(), "timeout") {
		t.Errorf("log: got %s, want the timeout without the signature", log.String())
	}
}
