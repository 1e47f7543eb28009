// Package chunk packs lines of logs into chunks, which are the rows of log_chunks, and unpacks them. It is pure.
package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Line is one line of a task's output.
type Line struct {
	At      time.Time // by the clock of the task's node
	Level   int       // as in the API: 0 unspecified, 1 trace … 6 critical
	Stdtype string    // stdout, stderr
	Source  string
	Rank    int    // -1: none
	Text    string // without the newline at its end
}

// A chunk's body is one byte that names the compression of the rest, and then
//
//	number of kinds, and stdtype and source of each
//	number of lines, time of the first line in microseconds
//	per line: microseconds since the line before, level, kind, rank + 1, length
//	the texts
//
// Numbers are varints, and strings follow their length. Similar values are next to each
// other, so lines compress to a tenth and less.
const (
	plainBody = 0
	zstdBody  = 1
	// small is the size in bytes up to which a chunk is not compressed.
	small = 200
	// Limits of a chunk, so that reading one never needs much memory.
	maxLines    = 1000
	maxBytes    = 1 << 20
	maxUnpacked = 16 << 20
)

// Codec packs and unpacks chunks. It is safe for concurrent use.
type Codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// New returns a Codec.
func New() Codec {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		panic("chunk: the options of zstd: " + err.Error())
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		panic("chunk: the options of zstd: " + err.Error())
	}
	return Codec{enc, dec}
}

// Chunk is a row of log_chunks before its lines have numbers.
type Chunk struct {
	Lines            int
	Earliest, Latest time.Time
	Levels           int // a bit for each level of its lines
	Body             []byte
}

// kind has the fields that are stored once for many lines.
type kind struct{ stdtype, source string }

// Pack packs lines into as many chunks as they need.
func (c Codec) Pack(lines []Line) []Chunk {
	var out []Chunk
	for len(lines) > 0 {
		n, size := 0, 0
		for n < len(lines) && n < maxLines && (n == 0 || size+len(lines[n].Text) <= maxBytes) {
			size += len(lines[n].Text)
			n++
		}
		out = append(out, c.one(lines[:n], size))
		lines = lines[n:]
	}
	return out
}

func (c Codec) one(lines []Line, size int) Chunk {
	k := Chunk{Lines: len(lines), Earliest: lines[0].At, Latest: lines[0].At}
	var kinds []kind
	numbers := map[kind]int{}
	index := make([]int, len(lines))
	for i, l := range lines {
		kind := kind{l.Stdtype, l.Source}
		if i > 0 && kind == kinds[index[i-1]] {
			index[i] = index[i-1]
		} else if n, there := numbers[kind]; there {
			index[i] = n
		} else {
			index[i] = len(kinds)
			numbers[kind] = len(kinds)
			kinds = append(kinds, kind)
		}
		if l.At.Before(k.Earliest) {
			k.Earliest = l.At
		}
		if l.At.After(k.Latest) {
			k.Latest = l.At
		}
		k.Levels |= 1 << l.Level
	}
	b := make([]byte, 1, 64+10*len(lines)+size)
	b = binary.AppendUvarint(b, uint64(len(kinds)))
	for _, kind := range kinds {
		b = appendText(appendText(b, kind.stdtype), kind.source)
	}
	b = binary.AppendUvarint(b, uint64(len(lines)))
	before := int64(0)
	for i, l := range lines {
		at := l.At.UnixMicro()
		b = binary.AppendVarint(b, at-before)
		before = at
		b = append(b, byte(l.Level))
		b = binary.AppendUvarint(b, uint64(index[i]))
		b = binary.AppendUvarint(b, uint64(l.Rank+1))
		b = binary.AppendUvarint(b, uint64(len(l.Text)))
	}
	for _, l := range lines {
		b = append(b, l.Text...)
	}
	k.Body = b
	if len(b) > small {
		packed := c.enc.EncodeAll(b[1:], []byte{zstdBody})
		if len(packed) < len(b) {
			k.Body = packed
		}
	}
	return k
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errChunk = errors.New("a chunk of logs in the database is damaged")

// Lines unpacks the body of a chunk. A damaged chunk causes an error and never a panic.
func (c Codec) Lines(body []byte) ([]Line, error) {
	if len(body) == 0 {
		return nil, errChunk
	}
	src := body[1:]
	switch body[0] {
	case plainBody:
	case zstdBody:
		var err error
		if src, err = c.dec.DecodeAll(src, nil); err != nil {
			return nil, fmt.Errorf("%w: %w", errChunk, err)
		}
	default:
		return nil, fmt.Errorf("%w: it is packed in an unknown way, %d", errChunk, body[0])
	}
	r := reader{text: string(src)} // one copy; the texts of all lines refer to it
	kinds := make([]kind, r.count(2))
	for i := range kinds {
		kinds[i] = kind{r.take(r.count(1)), r.take(r.count(1))}
	}
	lines := make([]Line, r.count(5))
	sizes := make([]int, len(lines))
	at := int64(0)
	for i := range lines {
		at += r.varint()
		level, kind, rank, size := r.byte(), r.uvarint(), r.uvarint(), r.uvarint()
		if r.bad || kind >= uint64(len(kinds)) || rank > 1<<31 || size > maxUnpacked {
			return nil, errChunk
		}
		lines[i] = Line{At: time.UnixMicro(at).UTC(), Level: int(level), Rank: int(rank) - 1,
			Stdtype: kinds[kind].stdtype, Source: kinds[kind].source}
		sizes[i] = int(size)
	}
	for i, n := range sizes {
		lines[i].Text = r.take(n)
	}
	if r.bad || r.at != len(r.text) {
		return nil, errChunk
	}
	return lines, nil
}

// reader reads the parts of a chunk; bad is set if the chunk is too short.
type reader struct {
	text string
	at   int
	bad  bool
}

func (r *reader) byte() byte {
	if r.bad || r.at >= len(r.text) {
		r.bad = true
		return 0
	}
	r.at++
	return r.text[r.at-1]
}

func (r *reader) uvarint() uint64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.bad = true
	return 0
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// count reads the number of items that follow, each of at least `each` bytes. It rejects a
// number that exceeds the remaining bytes, so that a damaged chunk cannot allocate much
// memory.
func (r *reader) count(each int) int {
	n := r.uvarint()
	if r.bad || n > uint64((len(r.text)-r.at)/each) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) take(n int) string {
	if r.bad || n > len(r.text)-r.at {
		r.bad = true
		return ""
	}
	r.at += n
	return r.text[r.at-n : r.at]
}
