package checkpoints

import (
	"bytes"
	"context"
	"io"
	"runtime"

	"github.com/detent-ml/detent/master/rest"
)

// compressPart is the number of bytes that a download compresses in one turn.
const compressPart = 256 << 10

// newCompressing limits what downloads of checkpoints use of the processors: one of each user compresses at a time,
// and all together on half of the processors. The rest is for requests.
func newCompressing() *rest.Shares { return rest.NewShares(max(1, int64(runtime.GOMAXPROCS(0)/2)), 1) }

// compressTurn waits for the turn of a download.
type compressTurn func(ctx context.Context) (release func(), err error)

// turned compresses in turns. Between two turns it sends what it has, so that a client that reads slowly
// holds no turn.
type turned struct {
	ctx      context.Context
	turn     compressTurn
	compress io.WriteCloser
	packed   *bytes.Buffer // what compress writes
	to       io.Writer
}

func (t *turned) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(len(p), n+compressPart)]
		if err := t.inTurn(func() error { _, err := t.compress.Write(part); return err }); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// Close sends the rest.
func (t *turned) Close() error { return t.inTurn(t.compress.Close) }

func (t *turned) inTurn(do func() error) error {
	release, err := t.turn(t.ctx)
	if err != nil {
		return err
	}
	if err := heldDuring(release, do); err != nil {
		return err
	}
	_, err = t.packed.WriteTo(t.to)
	return err
}

func heldDuring(release func(), do func() error) error {
	defer release() // also if it panics
	return do()
}
