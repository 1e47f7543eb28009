package attempts

import (
	"golang.org/x/sync/singleflight"

	"github.com/detent-ml/detent/master/rest"
)

// For tests, which are in another package because they use store, which imports this one.
const (
	MaxGatherBytes    = maxGatherBytes
	MaxPeersPerMember = maxPeersPerMember
	RollBackChunk     = rollBackChunk
)

var (
	AckPreemption     = ackPreemption
	AddAccelerators   = addAccelerators
	Arrive            = arrive
	DataOf            = dataOf
	DeadlineOf        = deadlineOf
	IsFingerprint     = isFingerprint
	LockMember        = lockMember
	MarkDaemon        = markDaemon
	MarkWaiting       = markWaiting
	Pass              = pass
	Peers             = peers
	ProgressOf        = progressOf
	RequestPreemption = requestPreemption
	SetProxyAddress   = setProxyAddress
)

type Gathers = gathers

func (d Deps) NomadPage(pool, kind, id string) string { return d.nomadPage(pool, kind, id) }

func (d Deps) NamespaceOf(pool string) string { return d.namespaceOf(pool) }

// Rounds is the number of rounds in memory.
func (g *gathers) Rounds() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.rounds)
}

// Held is the number of answers in memory.
func (g *gathers) Held() int { return g.memory.Held() }

// RoutesAndGathers are Routes, whose all-gathers a test looks at.
func RoutesAndGathers(r *rest.Router, d Deps) *Gathers {
	d.gathers, d.asked = newGathers(), &singleflight.Group{}
	d.routes(r)
	return d.gathers
}
