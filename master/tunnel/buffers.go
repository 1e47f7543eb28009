package tunnel

import "sync"

// copyBuffer is the size of the pieces in which answers are passed on.
const copyBuffer = 32 << 10

// Buffers lend memory for passing answers on. A program that reports many
// times a second would otherwise make 32 KB of garbage with each answer of two
// bytes.
type Buffers struct{ pool sync.Pool }

// Get lends a buffer.
func (b *Buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[copyBuffer]byte); ok {
		return p[:]
	}
	return make([]byte, copyBuffer)
}

// Put takes one back.
func (b *Buffers) Put(p []byte) { b.pool.Put((*[copyBuffer]byte)(p)) }
