package blobs

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
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
	given, _ := protocol.ParseGUID(id)
	own := given == l.id
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

// leaseID returns the lease ID in a header. It returns an error if the ID is required and missing,
// or has an invalid form.
func (c *call) leaseID(name string, required bool) (string, *xmlform.Failure) {
	value := c.Header.Get(name)
	id, ok := protocol.ParseGUID(value)
	switch {
	case value == "" && required:
		return "", xmlform.MissingHeader(name)
	case value != "" && !ok:
		return "", xmlform.InvalidHeader(name, value)
	}
	return id, nil
}

// leaseSeconds returns a number of seconds in a header. It returns an error if the number is
// missing, or valid does not accept it.
func (c *call) leaseSeconds(name string, valid func(int64) bool) (int64, *xmlform.Failure) {
	value := c.Header.Get(name)
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case value == "":
		return 0, xmlform.MissingHeader(name)
	case err != nil || !valid(n):
		return 0, xmlform.InvalidHeader(name, value)
	}
	return n, nil
}

// changeLease acquires, renews, changes, releases or breaks the lease of a container or of a blob
// with an ETag and a time of its last change, neither of which changes.
func (c *call) changeLease(l *lease, etag string, modified, now time.Time, with leaseFailures) *xmlform.Response {
	x, f := c.parseConditions()
	if f == nil {
		f = x.checkWrite(etag, modified)
	}
	if f != nil {
		return xmlform.Refuse(f)
	}
	actions := map[string]func(*lease, time.Time, leaseFailures) (int, *xmlform.Failure){
		"acquire": c.acquireLease, "renew": c.renewLease, "change": c.renameLease, "release": c.releaseLease, "break": c.breakLease,
	}
	name := c.Header.Get("x-ms-lease-action")
	action := actions[strings.ToLower(name)]
	switch {
	case name == "":
		return xmlform.Refuse(xmlform.MissingHeader("x-ms-lease-action"))
	case action == nil:
		return xmlform.Refuse(xmlform.InvalidHeader("x-ms-lease-action", name))
	}
	changed := *l
	status, f := action(&changed, now, with)
	if f != nil {
		return xmlform.Refuse(f)
	}
	*l = changed
	header := validators(etag, modified)
	switch {
	case status == http.StatusAccepted:
		left := max(0, l.breaks.Sub(now))
		header.Set("x-ms-lease-time", strconv.FormatInt(int64(left/time.Second), 10))
	case l.id != "":
		header.Set("x-ms-lease-id", l.id)
	}
	return &xmlform.Response{Status: status, Header: header}
}

// acquireLease acquires a lease that is not held, or sets the duration of a held lease.
func (c *call) acquireLease(l *lease, now time.Time, _ leaseFailures) (int, *xmlform.Failure) {
	id, f := c.leaseID("x-ms-proposed-lease-id", false)
	if f != nil {
		return 0, f
	}
	seconds, f := c.leaseSeconds("x-ms-lease-duration", func(n int64) bool { return n == infinite || n >= 15 && n <= 60 })
	state, held := l.state(now), id != "" && id == l.id
	switch {
	case f != nil:
		return 0, f
	case state == breaking && held:
		return 0, errLeaseBreaking
	case state == breaking, state == leased && !held:
		return 0, errLeasePresent
	}
	if id == "" {
		id = c.store.nextID()
	}
	*l = lease{id: id, seconds: seconds}
	l.extend(now)
	return http.StatusCreated, nil
}

// extend starts the duration of a lease again.
func (l *lease) extend(now time.Time) {
	if l.seconds != infinite {
		l.expires = now.Add(time.Duration(l.seconds) * time.Second)
	}
}

// renewLease extends a lease, also an expired one.
func (c *call) renewLease(l *lease, now time.Time, with leaseFailures) (int, *xmlform.Failure) {
	id, f := c.leaseID("x-ms-lease-id", true)
	switch {
	case f != nil:
		return 0, f
	case id != l.id:
		return 0, with.otherLease
	case l.broken:
		return 0, errLeaseBroken
	}
	l.extend(now)
	return http.StatusOK, nil
}

// renameLease gives a lease another ID.
func (c *call) renameLease(l *lease, now time.Time, with leaseFailures) (int, *xmlform.Failure) {
	id, f := c.leaseID("x-ms-lease-id", true)
	if f != nil {
		return 0, f
	}
	proposed, f := c.leaseID("x-ms-proposed-lease-id", true)
	known := id == l.id || proposed == l.id
	switch state := l.state(now); {
	case f != nil:
		return 0, f
	case state == breaking && known:
		return 0, errLeaseNoChange
	case state != leased && state != breaking:
		return 0, with.noLease
	case !known:
		return 0, with.otherLease
	}
	l.id = proposed
	return http.StatusOK, nil
}

// releaseLease ends a lease.
func (c *call) releaseLease(l *lease, _ time.Time, with leaseFailures) (int, *xmlform.Failure) {
	id, f := c.leaseID("x-ms-lease-id", true)
	switch {
	case f != nil:
		return 0, f
	case id != l.id:
		return 0, with.otherLease
	}
	*l = lease{}
	return http.StatusOK, nil
}

// breakLease ends a lease after a time: that of the request, but at the latest when the lease
// expires. Without a time in the request, an infinite lease ends at once.
func (c *call) breakLease(l *lease, now time.Time, with leaseFailures) (int, *xmlform.Failure) {
	const header = "x-ms-lease-break-period"
	state := l.state(now)
	if state == available {
		return 0, with.noLease
	}
	end, f := l.end(now), (*xmlform.Failure)(nil)
	if c.Header.Get(header) != "" {
		var seconds int64
		if seconds, f = c.leaseSeconds(header, func(n int64) bool { return n >= 0 && n <= 60 }); f != nil {
			return 0, f
		}
		if at := now.Add(time.Duration(seconds) * time.Second); at.Before(end) || l.seconds == infinite && !l.broken {
			end = at
		}
	}
	l.broken, l.breaks = true, end
	return http.StatusAccepted, nil
}

// end returns when a lease ends if it is broken without a time.
func (l *lease) end(now time.Time) time.Time {
	switch state := l.state(now); {
	case state == breaking:
		return l.breaks
	case state == leased && l.seconds != infinite:
		return l.expires
	}
	return now
}
