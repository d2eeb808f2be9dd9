package eventual_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestOutboxLogsRepeatedRequests: a notification that the queue does not take at once is logged, with the level of its cause.
func TestOutboxLogsRepeatedRequests(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	c := noPauses()
	c.Logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o, s := newOffice(t, c)
	for i, x := range []struct {
		fault storagetest.Fault
		want  []string
	}{
		{storagetest.LostRequest(), []string{"level=DEBUG", "request failed; another attempt follows", "attempt=1"}},
		{storagetest.Refuse(503, "ServerBusy"), []string{"level=WARN", "throttled by the service; another attempt follows", "attempt=1", "code=ServerBusy", "wait="}},
	} {
		text.Reset()
		s.SetFaults(storagetest.OfKind(kinds.MessagePut, storagetest.Once(x.fault)))
		_, err := o.staff.Insert(context.Background(), &clerk{Dept: "S", ID: i, Last: "Jones"})
		noError(t, err)
		for _, want := range append(x.want, "table=staff operation=Notify partition=S") {
			if got := text.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
				t.Errorf("got %s; want one line with %s", got, want)
			}
		}
	}
}
