package api

import (
	"sync"

	"github.com/detent-ml/detent/master/fault"
)

// webSockets counts the open WebSockets of each kind, and the streams that stay open as long.
type webSockets struct{ updates, terminals, live, logs, metrics *places }

func newWebSockets() webSockets {
	return webSockets{
		updates:   &places{what: "streams", most: 128, mostOfOne: 8},
		terminals: &places{what: "terminals", most: 256, mostOfOne: 16},
		live:      &places{what: "streams of changes (/detent/live)", most: 1024, mostOfOne: 64},
		metrics:   &places{what: "streams of metrics for charts", most: 256, mostOfOne: 32},
		logs:      &places{what: "streams of logs", most: 1024, mostOfOne: 128},
	}
}

// places limits how many connections of a kind are open, in all and for each caller.
type places struct {
	what            string // plural
	most, mostOfOne int

	mu  sync.Mutex
	all int
	of  map[string]int
}

// join admits one more, until the returned function is called.
func (p *places) join(who string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.of[who] >= p.mostOfOne:
		return nil, fault.New(fault.TooMany, "%d %s of %s are open; close one", p.mostOfOne, p.what, who)
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
