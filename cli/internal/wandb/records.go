package wandb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A file is a log in the form of LevelDB's: blocks of 32 KiB with pieces of records, each with a checksum, a length and a kind. Only the
// seven bytes at its beginning and the polynomial of the checksum are W&B's own.
const (
	blockSize = 32 << 10
	headSize  = 7
	// maxRecord is the size up to which a record is put together. Rows of metrics are much smaller.
	maxRecord = 16 << 20
)

var fileHead = []byte{':', 'W', '&', 'B', 0xe1, 0xbe, 0}

// The kinds of pieces.
const (
	padding = iota
	whole
	first
	middle
	last
)

// ErrDamaged is the error of bytes that are not those that were written.
var ErrDamaged = errors.New("is damaged")

// eachRecord calls fn with each complete record of a file and with the place of its first byte. A record that is not complete is the end
// of a file that somebody still writes. A record over maxRecord is passed over. It returns the place after the last record.
func eachRecord(in io.Reader, fn func(at int64, record []byte) error) (end int64, err error) {
	r := &pieces{in: bufio.NewReaderSize(in, blockSize)}
	head := make([]byte, headSize)
	if _, err := io.ReadFull(r.in, head); err != nil || string(head[:6]) != string(fileHead[:6]) {
		return 0, errors.New("is not a file of W&B: it does not begin with :W&B")
	}
	if head[6] != fileHead[6] {
		return 0, fmt.Errorf("has version %d of W&B's files; version 0 is known", head[6])
	}
	r.at, end = headSize, headSize
	var record []byte
	var begin int64
	open, tooLong := false, false
	for {
		at := r.at
		kind, body, err := r.next()
		if err != nil {
			return end, unlessEnd(err)
		}
		switch kind {
		case padding:
			continue
		case whole, first:
			record, begin, open, tooLong = record[:0], at, true, false
		case middle, last:
			if !open {
				return end, fmt.Errorf("the record at byte %d %w: it has no beginning", at, ErrDamaged)
			}
		default:
			return end, fmt.Errorf("the record at byte %d %w: there is no kind %d", at, ErrDamaged, kind)
		}
		if tooLong = tooLong || len(record)+len(body) > maxRecord; !tooLong {
			record = append(record, body...)
		}
		if kind == first || kind == middle {
			continue
		}
		open = false
		if !tooLong {
			if err := fn(begin, record); err != nil {
				return end, fmt.Errorf("the record at byte %d %w", begin, err)
			}
		}
		end = r.at
	}
}

// pieces reads the pieces of records.
type pieces struct {
	in   *bufio.Reader
	at   int64
	body [1 << 16]byte
}

// next reads a piece, or the rest of a block in which no piece fits.
func (p *pieces) next() (kind byte, body []byte, err error) {
	if left := blockSize - p.at%blockSize; left < headSize {
		n, err := io.CopyN(io.Discard, p.in, left)
		p.at += n
		return padding, nil, err
	}
	at := p.at
	var head [headSize]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return 0, nil, err
	}
	size := int64(binary.LittleEndian.Uint16(head[4:]))
	if head[6] == padding && size == 0 { // a block whose rest is empty
		p.at += headSize
		left := (blockSize - p.at%blockSize) % blockSize
		n, err := io.CopyN(io.Discard, p.in, left)
		p.at += n
		return padding, nil, err
	}
	if at%blockSize+headSize+size > blockSize {
		return 0, nil, fmt.Errorf("the record at byte %d %w: it is longer than its block", at, ErrDamaged)
	}
	body = p.body[:size]
	if _, err := io.ReadFull(p.in, body); err != nil {
		return 0, nil, err
	}
	p.at += headSize + size
	sum := crc32.Update(crc32.ChecksumIEEE(head[6:]), crc32.IEEETable, body)
	if sum != binary.LittleEndian.Uint32(head[:4]) {
		return 0, nil, fmt.Errorf("the record at byte %d %w: its checksum differs", at, ErrDamaged)
	}
	return head[6], body, nil
}

// unlessEnd is nil at the end of a file, also in the middle of a record.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
