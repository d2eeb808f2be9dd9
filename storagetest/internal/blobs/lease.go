package blobs

import (
	"net/http"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/xmlform"
)

// lease is the lease of a container or of a blob. The zero value is no lease.
type lease struct {
	id      string
	seconds int64     // how long an acquired or renewed lease lasts, or infinite
	expires time.Time // the end of a lease that is not infinite
	broken  bool
	breaks  time.Time // when a broken lease ends
}

// infinite is the duration of a lease that does not expire.
const infinite = -1

// leaseState is a state of a lease, as headers name it.
type leaseState string

const (
	available leaseState = "available"
	leased    leaseState = "leased"
	expired   leaseState = "expired"
	breaking  leaseState = "breaking"
	broken    leaseState = "broken"
)

// state returns the state at a time.
func (l *lease) state(now time.Time) leaseState {
	switch {
	case l.id == "":
		return available
	case l.broken && now.Before(l.breaks):
		return breaking
	case l.broken:
		return broken
	case l.seconds == infinite || now.Before(l.expires):
		return leased
	}
	return expired
}

// locked reports whether a write needs the ID of the lease.
func (l *lease) locked(now time.Time) bool {
	s := l.state(now)
	return s == leased || s == breaking
}

// dropEnded removes a lease that has ended.
func (l *lease) dropEnded(now time.Time) {
	if !l.locked(now) {
		*l = lease{}
	}
}

// checkGiven checks the lease ID of a request, which need not have one.
func (l *lease) checkGiven(id string, now time.Time, with leaseFailures) *xmlform.Failure {
	own := strings.EqualFold(id, l.id)
	switch {
	case id == "":
	case own && (l.state(now) == expired || l.state(now) == broken):
		return with.lost
	case !l.locked(now):
		return with.absent
	case !own:
		return with.mismatch
	}
	return nil
}

// checkRequired checks the lease ID of a request, which a lease requires.
func (l *lease) checkRequired(id string, now time.Time, with leaseFailures) *xmlform.Failure {
	if id == "" && l.locked(now) {
		return with.missing
	}
	return l.checkGiven(id, now, with)
}

// properties returns the state as its properties: the names and values of elements in a list.
func (l *lease) properties(now time.Time) (all [][2]string) {
	status := "unlocked"
	if l.locked(now) {
		status = "locked"
	}
	s := l.state(now)
	all = [][2]string{{"LeaseStatus", status}, {"LeaseState", string(s)}}
	switch {
	case s != leased:
	case l.seconds == infinite:
		all = append(all, [2]string{"LeaseDuration", "infinite"})
	default:
		all = append(all, [2]string{"LeaseDuration", "fixed"})
	}
	return all
}

// setHeader adds the state to the header of a response.
func (l *lease) setHeader(h http.Header, now time.Time) {
	for _, p := range l.properties(now) {
		h.Set("x-ms-lease-"+strings.ToLower(strings.TrimPrefix(p[0], "Lease")), p[1])
	}
}
