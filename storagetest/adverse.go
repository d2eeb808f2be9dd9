package storagetest

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/requests"
)

// Adversity describes what [Adverse] does. The zero value is ready for use.
type Adversity struct {
	// Seed chooses the faults. The same requests in the same order have the same faults.
	Seed uint64

	// PartitionRate and AccountRate are how many entities of a partition and of the account the service reads and writes in a second of
	// its clock, in requests for single entities and in transactions. Further requests are refused with 503 ServerBusy. Default to 2,000
	// and 20,000, as in the live service. Negative rates are no limits.
	PartitionRate, AccountRate int

	// Move is how long requests to a partition fail with 500 OperationTimedOut when the service moves it. It does not move again
	// within 20 times of that. Defaults to 2 seconds. A negative time lets no partition move.
	Move time.Duration

	// Delay is the longest time that a response is late. Defaults to 20 milliseconds. A negative time lets no response be late.
	Delay time.Duration
}

// How often a request has a fault: once in so many requests.
const (
	shortPages     = 4 // of the requests for pages
	partitionPages = 8
	moves          = 200 // of the requests for entities
	delays         = 10
)

// rest is how long a partition does not move again, in times of a move.
const rest = 20

// Adverse returns a plan that makes the service as unpleasant as the live service may be at any time: short and empty pages, tokens
// without a row, throttled partitions, partitions that move, late responses. No request and no response is lost, so a program that
// repeats what is refused, and reads all pages, works as without the plan.
//
//	s.SetFaults(storagetest.Adverse(storagetest.Adversity{Seed: 1}))
func Adverse(a Adversity) Plan {
	a.PartitionRate, a.AccountRate = cmp.Or(a.PartitionRate, 2_000), cmp.Or(a.AccountRate, 20_000)
	a.Move, a.Delay = cmp.Or(a.Move, 2*time.Second), cmp.Or(a.Delay, 20*time.Millisecond)
	p := &adverse{Adversity: a, used: map[string]*bucket{}, moving: map[string]time.Time{}}
	return p.plan
}

// adverse is the state of a plan.
type adverse struct {
	Adversity
	used   map[string]*bucket   // of each partition, and of the account under ""
	moving map[string]time.Time // when each partition can be reached again
}

// bucket holds the entities that can still be read or written. It fills with time.
type bucket struct {
	rate, left float64
	at         time.Time
}

// plan is the plan. It is called for one request at a time.
func (a *adverse) plan(r Request) Fault {
	random := rand.New(rand.NewPCG(a.Seed, uint64(r.Number)))
	oneIn := func(n int) bool { return random.IntN(n) == 0 }
	shortPage, partitionPage, move, late := oneIn(shortPages), oneIn(partitionPages), oneIn(moves), oneIn(delays)
	switch r.Kind {
	case requests.Query, requests.TableQuery, requests.QueueList, requests.ContainerList, requests.BlobList:
		switch {
		case partitionPage && r.Kind == requests.Query:
			return PartitionPage()
		case shortPage && continues(r):
			return ShortPage(1 + random.IntN(3)) // not 0, since a token that repeats itself would have no end
		case shortPage:
			return ShortPage(random.IntN(2))
		}
	case requests.Get, requests.Insert, requests.Replace, requests.Merge, requests.InsertOrReplace, requests.InsertOrMerge, requests.Delete, requests.Transaction:
		if f := a.refusal(r, move); f != (Fault{}) {
			return f
		}
	}
	if late && a.Delay > 0 {
		return Slow(time.Duration(random.Int64N(int64(a.Delay))) + 1)
	}
	return Fault{}
}

// continues reports whether a request asks for a page that is not the first.
func continues(r Request) bool {
	return strings.Contains(r.URL, "NextPartitionKey=") || strings.Contains(r.URL, "NextTableName=") || strings.Contains(r.URL, "marker=")
}

// refusal returns the refusal of a request for entities, if its partition moves, or if it or the account is throttled.
func (a *adverse) refusal(r Request, move bool) Fault {
	partition, entities := partitionOf(r)
	if move && a.Move > 0 && !r.Time.Before(a.moving[partition].Add(rest*a.Move)) {
		a.moving[partition] = r.Time.Add(a.Move)
	}
	if r.Time.Before(a.moving[partition]) {
		return Refuse(http.StatusInternalServerError, "OperationTimedOut")
	}
	ofAccount, ofPartition := a.bucket("", a.AccountRate, r.Time), a.bucket(partition, a.PartitionRate, r.Time)
	if !ofAccount.has(entities) || !ofPartition.has(entities) {
		return Refuse(http.StatusServiceUnavailable, "ServerBusy")
	}
	ofAccount.left -= float64(entities)
	ofPartition.left -= float64(entities)
	return Fault{}
}

// partitionOf returns the partition of a request for entities, and the number of its entities.
func partitionOf(r Request) (partition string, entities int) {
	if len(r.Operations) > 0 {
		partition, _ = partitionOf(r.Operations[0])
		return partition, len(r.Operations)
	}
	return strings.ToLower(r.Table) + "\x00" + r.PartitionKey, 1
}

// bucket returns a bucket at a time. It holds the entities of one second at most.
func (a *adverse) bucket(name string, rate int, now time.Time) *bucket {
	b := a.used[name]
	if b == nil || now.Before(b.at) {
		b = &bucket{rate: float64(rate), left: float64(rate), at: now}
		a.used[name] = b
	}
	b.left, b.at = min(b.rate, b.left+now.Sub(b.at).Seconds()*b.rate), now
	return b
}

// has reports whether a bucket holds n entities, or is full.
func (b *bucket) has(n int) bool { return b.rate < 0 || b.left >= min(float64(n), b.rate) }
