// Package contexts is the room of contexts: the code that users submit with experiments and tasks.
//
// A context is a gzipped tar, whose key is the hash of its content, so the same code is stored once, whoever submits it. rows.go stores
// it in parts, reads it a little at a time, and drops it when no experiment or task uses it any more. send.go sends it to clients, which
// may be slow. Package launch packs the code of requests; the endpoints that send it are those of experiments and tasks.
package contexts

// A Context is stored code.
type Context struct {
	Hash []byte `db:"hash"`
	Size int64  `db:"size"` // of the archive
}

// Limits on submitted code; launch has that on its size.
const (
	MaxFiles = 50_000
	MaxNames = 8 << 20 // bytes of the paths of all files together, because they are in memory while they are checked
	MaxDepth = 64      // folders and files on one path
)
