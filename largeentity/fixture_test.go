package largeentity_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/internal/testkit/valuestest"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

var must = testkit.NoError

// employee is the entity type of these tests.
type employee struct {
	Department string
	ID         int
	Last       string
	Photo      largeentity.Blob
	Resume     largeentity.Blob
}

var (
	dept   = keys.Text()
	empid  = keys.Digits[int](6).Named("empid")
	schema = table.Schema[employee]{
		Partition: keys.Partition(dept, func(e *employee) *string { return &e.Department }),
		Row:       keys.Row(empid, func(e *employee) *int { return &e.ID }),
	}
	last = table.FieldOf(func(e *employee) *string { return &e.Last })
)

func at(id int) keys.Key { return keys.At(dept.PartitionKey("Sales"), empid.RowKey(id)) }

func photoOf(e *employee) largeentity.Blob { return e.Photo }

// fixture is what a program has.
type fixture struct {
	account *account.Account
	base    *table.Table[employee]
	staff   *table.Table[employee] // with photos
	photos  photosOf
}

// photosOf are the values of employees.
type photosOf struct{ valuestest.Values[employee] }

// Sweep sweeps with all options.
func (p photosOf) Sweep(ctx context.Context, o *largeentity.SweepOptions) (largeentity.SweepReport, error) {
	return largeentity.Sweep(ctx, p.Values, o)
}

// ReadAll returns a value, once it is checked.
func (p photosOf) ReadAll(ctx context.Context, b largeentity.Blob) ([]byte, error) {
	return readAll(p.Open(ctx, b))
}

func readAll(r io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// small are the options of most tests: values above 8 bytes are uploaded, in blocks of 16.
func small() *largeentity.Options {
	o := &largeentity.Options{InlineUpTo: 8, BlockSize: 16, BlocksInFlight: 1}
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	return o
}

// openFixture opens what a program has on a transport.
func openFixture(transport account.Transport, o *largeentity.Options) (*fixture, error) {
	acc, err := account.FromTransport(transport, nil)
	if err != nil {
		return nil, err
	}
	fx := &fixture{account: acc}
	to := &table.Options{Common: o.Common}
	if fx.base, err = bare.NewTable(acc.Tables(), "staff", schema, to); err != nil {
		return nil, err
	}
	fx.photos.Values, fx.staff, err = valuestest.New(fx.base, acc, "photos", o)
	return fx, err
}

// newFixture returns a fixture on a service of its own, without counted requests. A nil o means small.
func newFixture(t testing.TB, o *largeentity.Options) (*fixture, *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	return newFixtureOn(t, s, s, o), s
}

func newFixtureOn(t testing.TB, s *storagetest.Service, transport account.Transport, o *largeentity.Options) *fixture {
	t.Helper()
	if o == nil {
		o = small()
	}
	fx, err := openFixture(transport, o)
	must(t, err)
	must(t, fx.ensure(context.Background()))
	s.Count()
	return fx
}

// valuesOf returns the large values of another table with the same container.
func valuesOf(t testing.TB, fx *fixture, name string) photosOf {
	t.Helper()
	base, err := bare.NewTable(fx.account.Tables(), name, schema, nil)
	must(t, err)
	v, _, err := valuestest.New(base, fx.account, "photos", nil)
	must(t, err)
	return photosOf{v}
}

// refusal returns the error of values with these options.
func (fx *fixture) refusal(container string, o *largeentity.Options) error {
	_, _, err := valuestest.New(fx.base, fx.account, container, o)
	return err
}

func (fx *fixture) ensure(ctx context.Context) error {
	if err := tabledoor.Ensure(ctx, fx.staff); err != nil {
		return err
	}
	return fx.photos.Ensure(ctx)
}

// upload uploads a value for employee 1.
func (fx *fixture) upload(t testing.TB, content string) largeentity.Blob {
	t.Helper()
	b, err := fx.photos.Upload(context.Background(), at(1), strings.NewReader(content), "")
	must(t, err)
	return b
}

// expectContent checks the content of a value.
func (fx *fixture) expectContent(t testing.TB, what string, b largeentity.Blob, want string) {
	t.Helper()
	got, err := fx.photos.ReadAll(context.Background(), b)
	must(t, err)
	if string(got) != want {
		t.Errorf("%s: got %.60q, %d bytes; want %.60q, %d bytes", what, got, len(got), want, len(want))
	}
}

// text returns n bytes that differ from place to place.
func text(n int) string {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d ", i)
	}
	return b.String()[:n]
}

// states returns the states of the rows of blobs, and the number of blobs, such as "live unlinked, 1 blobs".
func states(s *storagetest.Service) string {
	var all []string
	for _, r := range s.Rows("staff") {
		if strings.HasPrefix(r.RowKey, "~b|") {
			all = append(all, fmt.Sprint(r.Get("State")))
		}
	}
	slices.Sort(all)
	return fmt.Sprintf("%s, %d blobs", strings.Join(all, " "), len(s.StoredBlobs("photos")))
}

// clock is a clock that tests set.
type clock struct{ ahead time.Duration }

func (c *clock) now() time.Time { return time.Now().Add(c.ahead) }
