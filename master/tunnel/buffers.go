package tunnel

import "sync"

// copyBuffer is the size of the buffers that copy responses.
const copyBuffer = 32 << 10

// Buffers is a pool of buffers that copy responses. Without it, a program that reports many
// times a second would cause 32 KB of garbage with each response of two bytes.
type Buffers struct{ pool sync.Pool }

// Get takes a buffer from the pool.
func (b *Buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[copyBuffer]byte); ok {
		return p[:]
	}
	return make([]byte, copyBuffer)
}

// Put returns a buffer to the pool.
func (b *Buffers) Put(p []byte) { b.pool.Put((*[copyBuffer]byte)(p)) }
