package largeentity_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/verify"
)

// TestSweepClockBehind: a blob of a program whose clock is behind is young as long as it is young for the service.
func TestSweepClockBehind(t *testing.T) {
	t.Parallel()
	fx, s, c := newSweepFixture(t)
	behind := small()
	options.SetNow(&behind.Common, func() time.Time { return c.now().Add(-48 * time.Hour) })
	program, err := openFixture(s, behind)
	must(t, err)
	program.upload(t, text(20))
	r := fx.sweep(t, nil)
	testkit.Expect(t, "young and orphans", []int{r.Young, r.Orphans}, []int{1, 0})
	c.ahead = 25 * time.Hour
	r = fx.sweep(t, nil)
	testkit.Expect(t, "a day later: young and orphans", []int{r.Young, r.Orphans}, []int{0, 1})
}

// TestSweepWriterBetween: between a sweep's read of the rows and its row for an orphan, a slow writer stores the blob in an entity. The
// blob stays.
func TestSweepWriterBetween(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &clock{}
	o := small()
	options.SetNow(&o.Common, c.now)
	s := storagetest.New(&storagetest.Options{Now: c.now})
	h := &testkit.Hooked{Service: s}
	fx := newFixtureOn(t, s, h, o)
	b := fx.upload(t, text(20))
	c.ahead = 25 * time.Hour
	slow := small()
	options.SetNow(&slow.Common, func() time.Time { return c.now().Add(-25 * time.Hour) }) // its clock is wrong
	writer, err := openFixture(s, slow)
	must(t, err)
	stored := false
	h.BeforeRequest = func(r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/staff") && !stored {
			stored = true
			_, err := writer.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: b})
			must(t, err)
		}
	}
	var found []verify.Fault
	r := fx.sweep(t, &largeentity.SweepOptions{Fault: func(f verify.Fault) { found = append(found, f) }})
	testkit.Expect(t, "the writer came between", stored, true)
	testkit.Expect(t, "young and orphans", []int{r.Young, r.Orphans}, []int{1, 0})
	testkit.Expect(t, "faults", len(found), 0)
	testkit.Expect(t, "states", states(s), "live, 1 blobs")
	fx.expectContent(t, "photo", b, text(20))
}
