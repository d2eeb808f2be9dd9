// Package ratelimit lets a user do something a number of times in each window of time.
package ratelimit

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Window counts what a user has done, and ends by itself.
type Window struct {
	User string
	Used int
	Ends time.Time
}

var (
	user = keys.Partition(keys.Text(), func(w *Window) *string { return &w.User })
	ends = expire.At(func(w *Window) time.Time { return w.Ends }, nil)
)

// ErrFull is returned when a user has used up the window.
var ErrFull = errors.New("too many requests; try again in the next window")

// Limit is a limit for each user.
type Limit struct {
	*aztablekit.Store
	Windows *table.Table[Window]
	most    int
	lasts   time.Duration
}

// Open declares the table of the windows, in which a user may do most things. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options, most int, lasts time.Duration) *Limit {
	s := aztablekit.Open(acc, "limits", o)
	return &Limit{s, aztablekit.Table(s, "windows", user, keys.OneRow[Window]("window"), ends), most, lasts}
}

// Use counts one use of a user, or refuses it: ErrFull. A window that is over is not there, whether it was deleted or not, so that the next use begins a new one. 2 requests; 1 for a
// refusal; 3 in a new window, and 1 more to delete the last one.
func (l *Limit) Use(ctx context.Context, of string) error {
	for {
		_, err := l.Windows.Update(ctx, l.Windows.Key(Window{User: of}), func(w *Window) error {
			if w.Used >= l.most {
				return ErrFull
			}
			w.Used++
			return nil
		})
		if !errors.Is(err, table.ErrNotFound) {
			return err
		}
		_, err = l.Windows.Insert(ctx, &Window{of, 1, time.Now().Add(l.lasts)})
		if !errors.Is(err, table.ErrExists) { // else another program has begun the window
			return err
		}
	}
}
