// Package logins stores sessions, which end, and codes for logging in, which end and work once.
package logins

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Session is a session of a user.
type Session struct {
	User, ID string
	Ends     time.Time
}

// Code is a code that a user gets by mail.
type Code struct {
	User, Text string
	Ends       time.Time
}

var (
	user    = keys.Partition(keys.Text(), func(s *Session) *string { return &s.User })
	id      = keys.Row(keys.Text().Named("session"), func(s *Session) *string { return &s.ID })
	ofCode  = keys.Partition(keys.Text(), func(c *Code) *string { return &c.User })
	codeRow = keys.Row(keys.Text().Named("code"), func(c *Code) *string { return &c.Text })

	sessionsEnd = expire.At(func(s *Session) time.Time { return s.Ends }, nil)
	codesEnd    = expire.At(func(c *Code) time.Time { return c.Ends }, &expire.Options{Name: "codesend", Once: true})
)

// Logins are the sessions and codes of all users.
type Logins struct {
	*aztablekit.Store
	Sessions *table.Table[Session]
	Codes    *table.Table[Code]
}

// Open declares the tables. Call Ensure of the result when the program starts. Run of it deletes each day what is over.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Logins {
	s := aztablekit.Open(acc, "logins", o)
	return &Logins{s, aztablekit.Table(s, "sessions", user, id, sessionsEnd), aztablekit.Table(s, "codes", ofCode, codeRow, codesEnd)}
}

// Send stores a code for a user, which works for some time. 1 request.
func (l *Logins) Send(ctx context.Context, of, code string, lasts time.Duration) error {
	_, err := l.Codes.Insert(ctx, &Code{of, code, time.Now().Add(lasts)})
	return err
}

// ErrNone: the code is wrong, over or used, or there is no such session, or it is over.
var ErrNone = table.ErrNotFound

// Begin begins a session with a code, which does not work again: ErrNone if it does not work. 3 requests.
func (l *Logins) Begin(ctx context.Context, of, code, session string, lasts time.Duration) error {
	if _, err := codesEnd.Take(ctx, l.Codes, keys.At(ofCode.Of(of), codeRow.Of(code))); err != nil {
		return err
	}
	_, err := l.Sessions.Insert(ctx, &Session{of, session, time.Now().Add(lasts)})
	return err
}

// Check returns a session, and ErrNone from its end on. 1 request.
func (l *Logins) Check(ctx context.Context, of, session string) (*Session, error) {
	e, err := l.Sessions.Get(ctx, keys.At(user.Of(of), id.Of(session)))
	if err != nil {
		return nil, err
	}
	return &e.Value, nil
}

// Extend lets a session last from now on, unless it is over: ErrNone. 2 requests.
func (l *Logins) Extend(ctx context.Context, of, session string, lasts time.Duration) error {
	_, err := sessionsEnd.Extend(ctx, l.Sessions, keys.At(user.Of(of), id.Of(session)), func(s *Session) error {
		s.Ends = time.Now().Add(lasts)
		return nil
	})
	return err
}

// Count returns how many sessions a user has. 1 request.
func (l *Logins) Count(ctx context.Context, of string) (int, error) {
	return l.Sessions.Count(ctx, table.Query[Session]{Partition: user.Of(of)})
}
