package rest

import (
	"sync"

	"github.com/detent-ml/detent/master/fault"
)

// Places limit how many connections of a kind are open, in all and for each caller.
type Places struct {
	MostOfOne int // connections of one caller

	what string // plural
	most int

	mu  sync.Mutex
	all int
	of  map[string]int
}

// NewPlaces returns places for at most so many connections, and for so many of one caller. what names them, in the plural.
func NewPlaces(what string, most, mostOfOne int) *Places {
	return &Places{what: what, most: most, MostOfOne: mostOfOne}
}

// Join admits one more, until the returned function is called.
func (p *Places) Join(who string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.of[who] >= p.MostOfOne:
		return nil, fault.New(fault.TooMany, "%d %s of %s are open; close one", p.MostOfOne, p.what, who)
	case p.all >= p.most:
		return nil, fault.New(fault.TooMany, "%d %s are open on this master; try again later", p.most, p.what)
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.all++
	p.of[who]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all--
		if p.of[who]--; p.of[who] == 0 {
			delete(p.of, who)
		}
	}, nil
}

// Count is how many connections are open.
func (p *Places) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}
