package attempts

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// gathers are the rounds of all-gathers in progress. The response of a round is read and
// encoded once for all peers.
type gathers struct {
	memory *rest.Shares // for the responses, in bytes

	mu     sync.Mutex
	rounds map[Round]*gatherRound
}

// A gatherRound is one round.
type gatherRound struct {
	users int // protected by the lock of gathers

	mu   sync.Mutex
	body []byte // never changes after it is set
	held *rest.Share
}

// gathered is the part of one peer in a round, until its response is sent.
type gathered struct {
	of     *gathers
	key    Round
	round  *gatherRound
	closed sync.Once
}

func newGathers() *gathers {
	return &gathers{memory: rest.NewShares(gatherMemory, gatherMemoryPerUser), rounds: map[Round]*gatherRound{}}
}

func (g *gathers) enter(key Round) *gathered {
	g.mu.Lock()
	defer g.mu.Unlock()
	round := g.rounds[key]
	if round == nil {
		round = &gatherRound{}
		g.rounds[key] = round
	}
	round.users++
	return &gathered{of: g, key: key, round: round}
}

// Close releases the round. It may be called again.
func (p *gathered) Close() error {
	p.closed.Do(func() {
		p.of.mu.Lock()
		defer p.of.mu.Unlock()
		if p.round.users--; p.round.users > 0 {
			return
		}
		delete(p.of.rounds, p.key)
		if p.round.held != nil {
			p.round.held.Release()
		}
	})
	return nil
}

// load reads the response of a complete round, unless another peer has read it.
func (p *gathered) load(ctx context.Context, db *database.DB, owner string) error {
	p.round.mu.Lock()
	defer p.round.mu.Unlock()
	if p.round.body != nil {
		return nil
	}
	size, err := bytesOf(ctx, db, p.key)
	if err != nil {
		return err
	}
	held, err := p.of.memory.Take(ctx, owner, 2*size) // for reading and for encoding
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "the master answers too many all-gathers now; try again")
	}
	body, err := gatheredBody(ctx, db, p.key)
	if err != nil {
		held.Release()
		return err
	}
	p.round.body, p.round.held = body, held
	return nil
}

// gatheredBody encodes the response of a round.
func gatheredBody(ctx context.Context, db *database.DB, key Round) ([]byte, error) {
	list, err := dataOf(ctx, db, key)
	if err != nil {
		return nil, err
	}
	all := each.Of(list, func(d json.RawMessage) v1.Struct { return v1.Struct(d) })
	return v1.Marshal(&v1.AllocationAllGatherResponse{Data: all})
}
