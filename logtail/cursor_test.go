package logtail_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail"
)

// TestTokenBeforeUse: a cursor that is not used yet has the token that it was made of. A program that stops before its first record
// stores the same position again.
func TestTokenBeforeUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		claims, _ := newLog(t, nil)
		for i := range 3 {
			_, err := claims.Append(context.Background(), &claim{1, i})
			noError(t, err)
			time.Sleep(time.Second)
		}
		cursor := logtail.NewCursor("", time.Time{})
		testkit.Expect(t, "token of the beginning", cursor.Token(), "")
		for _, err := range claims.Follow(context.Background(), cursor) {
			noError(t, err)
			break
		}
		saved := cursor.Token()
		again := logtail.NewCursor(saved, time.Time{}).Token()
		testkit.Expect(t, "token before use", again, saved)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		testkit.Expect(t, "records after the token", follow(t, ctx, claims, logtail.NewCursor(again, time.Time{})), []int{1, 2})
	})
}
