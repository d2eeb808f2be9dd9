package host_test

import (
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"

	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/table"
)

// TestOptionsByField: an option of a table or a thing changes that option alone; all others are the store's.
func TestOptionsByField(t *testing.T) {
	t.Parallel()
	common := func(n int) table.Common {
		c := table.Common{
			Tracing: tracing.NewProvider(func(string, string) tracing.Tracer { return tracing.Tracer{} }, nil), Logger: slog.Default(),
			OmitOperationID: true,
		}
		options.SetNow(&c, func() time.Time { return time.Unix(int64(n), 0) })
		options.SetNewID(&c, func() string { return string(rune(n)) })
		if n > 1 {
			c.Logger = c.Logger.With("n", n)
		}
		for _, v := range []reflect.Value{reflect.ValueOf(&c).Elem(), reflect.ValueOf(&c.Retry).Elem()} {
			for i := range v.NumField() {
				if v.Field(i).CanInt() {
					v.Field(i).SetInt(int64(n))
				}
			}
		}
		return c
	}
	h, own := &host.Host{Common: common(1)}, common(2)
	got := h.Options(table.Common{})
	expectFields(t, "no option", got, h.Common, "")
	typ := reflect.TypeFor[table.Common]()
	for i := range typ.NumField() {
		if !typ.Field(i).IsExported() {
			continue
		}
		one := table.Common{}
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(own).Field(i))
		got := h.Options(one)
		expectFields(t, typ.Field(i).Name, got, h.Common, typ.Field(i).Name)
		expectFields(t, typ.Field(i).Name, got, one, "", typ.Field(i).Name)
	}
	one := table.Common{}
	options.SetNow(&one, options.SourcesOf(own).Now)
	want := options.Sources{Now: options.SourcesOf(own).Now, NewID: options.SourcesOf(h.Common).NewID}
	if got := options.SourcesOf(h.Options(one)); !same(reflect.ValueOf(got), reflect.ValueOf(want)) {
		t.Errorf("with another clock: got other sources than that clock and the IDs of the store: %+v, want %+v", got, want)
	}
	retry := reflect.TypeFor[table.Retry]()
	for i := range retry.NumField() {
		one := table.Common{}
		reflect.ValueOf(&one.Retry).Elem().Field(i).SetInt(2)
		want := h.Common.Retry
		reflect.ValueOf(&want).Elem().Field(i).SetInt(2)
		if got := h.Options(one); got.Retry != want {
			t.Errorf("Retry.%s: got %+v, want %+v", retry.Field(i).Name, got.Retry, want)
		}
	}
}

// expectFields compares the fields of two structs: those in only, or all but one.
func expectFields(t *testing.T, option string, got, want table.Common, but string, only ...string) {
	t.Helper()
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		if name == but || len(only) > 0 && name != only[0] {
			continue
		}
		if !same(a.Field(i), b.Field(i)) {
			t.Errorf("with %s: got another %s than %+v", option, name, b.Field(i))
		}
	}
}

// same compares values that may be or contain functions.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Func:
		return a.Pointer() == b.Pointer()
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}
