// Package options declares the options that all packages share. Package table names them again.
package options

import (
	"log/slog"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
)

// Common are the options that all packages of this library share. The zero value of each field is
// its default.
type Common struct {
	// WriteTimeout bounds a write with all its attempts. Defaults to 30 s; negative means no bound.
	WriteTimeout time.Duration

	// ReadTimeout bounds one read request, or one page of a list, with the repeated attempts of the
	// SDK's client. Defaults to 1 min; negative means no bound, and the SDK alone waits for ever.
	ReadTimeout time.Duration

	// Retry bounds attempts.
	Retry Retry

	// OmitOperationID leaves out the operation ID (_op), one of the 252 properties that an entity
	// may have. Without it, each write whose response is lost fails with ErrUnknownOutcome.
	OmitOperationID bool

	// Tracing receives a span for each method call, with its requests as children. Use the provider
	// that the SDK's clients have in azcore.ClientOptions. The spans of the SDK's own methods are
	// then suppressed. The zero value traces nothing. A span has the attributes db.system.name,
	// db.collection.name (the table) and db.operation.name (the method); db.operation.batch.size,
	// the operations of a transaction, derived rows included; az.service_request_id, the service's
	// ID of the last request; and db.response.status_code, the service's error code, if the method
	// fails with one. It contains no properties. Workers of package eventual have a span for each
	// message. See docs/observability.md.
	Tracing tracing.Provider

	// Logger receives one line for each event that an operator may want to know. At Debug: a
	// conflict with a concurrent writer, and a request that failed, if another attempt follows. At
	// Warn: a request that the service throttled, derived rows that were repaired, and work that
	// was given up. The attributes are table, operation, key or partition, attempt, wait, code (the
	// service's) and error. Properties and signatures are not logged. The SDK's client repeats
	// reads on its own and does not log them here. Defaults to no logging.
	Logger *slog.Logger

	sources Sources // of the store
}

// Sources are where a store gets the time and unique IDs. Nil means the default.
type Sources struct {
	Now   func() time.Time
	NewID func() string // returns 16 random characters of 0-9 and A-Z
}

// SourcesOf returns the sources of options.
func SourcesOf(c Common) Sources { return c.sources }

// Within returns options with the sources of a store, where they have none.
func Within(c Common, s Sources) Common {
	if c.sources.Now == nil {
		c.sources.Now = s.Now
	}
	if c.sources.NewID == nil {
		c.sources.NewID = s.NewID
	}
	return c
}

// At returns options with a clock.
func At(now func() time.Time) Common { return Common{sources: Sources{Now: now}} }

// SetNow sets the clock.
func SetNow(c *Common, now func() time.Time) { c.sources.Now = now }

// SetNewID sets the source of IDs.
func SetNewID(c *Common, newID func() string) { c.sources.NewID = newID }

// Retry bounds attempts: of one request (Attempts), and of reading and writing again after a
// conflict (ConflictAttempts).
type Retry struct {
	// AttemptTimeout bounds one attempt of a write, and one of a read of a row that a write needs.
	// Defaults to 10 s; negative means no bound but WriteTimeout.
	AttemptTimeout time.Duration

	// Attempts is how often a write is sent if its response is lost or the service could not be
	// reached; 1, or less than 0, means once. By default, time ends the attempts: a write is sent
	// again until WriteTimeout or the context ends. 4 attempts are the most without both, and if
	// the response is that of another program, such as a proxy; 100 are the most without pauses. A
	// busy service (503, 429) uses up no attempt of several, and no request is sent sooner than
	// Retry-After asks. With a number, work on whole tables does not outlast outages (see
	// table.Pass). The reads of a write are repeated in the same way, besides the attempts of
	// the SDK's client.
	Attempts int

	// Wait is the pause before the second attempt. It doubles with each attempt up to MaxWait, and
	// each pause is shortened at random by up to a half. Defaults to 200 ms and 3 s; a negative
	// Wait means no pause.
	Wait, MaxWait time.Duration

	// ConflictAttempts bounds how often a method begins again after a conflict: Update, writes by
	// key (Upsert, and methods with Any in their names), writes with derived rows, and bulk
	// deletes; also index.Index.Get, verify.Check and verify.Repair. WriteTimeout usually ends
	// first. Defaults to 100.
	ConflictAttempts int

	// ConflictWait is the pause after the first conflict. It doubles with each conflict up to
	// MaxConflictWait, and each pause is shortened at random by up to a half. Defaults to 20 ms and
	// 1 s; a negative ConflictWait means no pause.
	ConflictWait, MaxConflictWait time.Duration
}
