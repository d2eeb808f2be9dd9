package eventual_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// TestNoSecrets: neither the poison queue nor a message holds the text of an error; the log does.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	o, s := opened(t, quick())
	_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
	check(err)
	var calls atomic.Int64
	var log bytes.Buffer
	opt := options()
	opt.Attempts, opt.Logger = 1, slog.New(slog.NewTextHandler(&log, nil))
	check(workerOf(o, failing(o, &calls, func(int64) error { return errors.New("the password is x") }), opt).Drain(context.Background()))
	if got := s.Messages("poison"); len(got) != 1 || strings.Contains(got[0].Text, "password") {
		t.Error(got)
	}
	for _, want := range []string{"level=ERROR", "poison", "password", "table=staff", "class=attempts", "kind=letter"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is not in %s", want, log.String())
		}
	}
}

// TestNoSignatures: a handler's error that holds an address with a signature is logged without it.
func TestNoSignatures(t *testing.T) {
	t.Parallel()
	o, _ := opened(t, quick())
	_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
	check(err)
	var calls atomic.Int64
	var log bytes.Buffer
	opt := options()
	opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
	secret := &url.Error{Op: "Get", URL: "https://x.table.core.windows.net/staff?sv=1&sig=SECRET", Err: errors.New("timeout")}
	check(workerOf(o, failing(o, &calls, func(int64) error { return secret }), opt).Drain(context.Background()))
	if strings.Contains(log.String(), "SECRET") || !strings.Contains(log.String(), "timeout") {
		t.Error(log.String())
	}
}
