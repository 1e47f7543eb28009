package tfevents

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// maxRecord is the size up to which a record is read. Scalars need some hundred bytes; larger records are graphs and images, which are passed over.
const maxRecord = 16 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the checksum of a record as TensorFlow writes it.
func masked(b []byte) uint32 {
	sum := crc32.Checksum(b, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// ErrDamaged is the error of a record whose bytes are not those that were written.
var ErrDamaged = errors.New("is damaged")

// eachRecord calls fn with each complete record of a file and with the place of its first byte. A record that is not complete is the end of a
// file that somebody still writes. It returns the place after the last complete record.
func eachRecord(in io.Reader, fn func(at int64, record []byte) error) (end int64, err error) {
	r := bufio.NewReaderSize(in, 1<<16)
	var head [12]byte
	var buffer []byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return end, unlessEnd(err)
		}
		size := binary.LittleEndian.Uint64(head[:8])
		if masked(head[:8]) != binary.LittleEndian.Uint32(head[8:]) || size > 1<<40 {
			return end, fmt.Errorf("the record at byte %d %w: its length is not the one that was written", end, ErrDamaged)
		}
		total := int64(size) + 4
		if size > maxRecord {
			if n, err := io.CopyN(io.Discard, r, total); err != nil || n != total {
				return end, unlessEnd(err)
			}
			end += 12 + total
			continue
		}
		if int64(cap(buffer)) < total {
			buffer = make([]byte, total)
		}
		buffer = buffer[:total]
		if _, err := io.ReadFull(r, buffer); err != nil {
			return end, unlessEnd(err)
		}
		record := buffer[:size]
		if masked(record) != binary.LittleEndian.Uint32(buffer[size:]) {
			return end, fmt.Errorf("the record at byte %d %w: its checksum differs", end, ErrDamaged)
		}
		if err := fn(end, record); err != nil {
			return end, fmt.Errorf("the record at byte %d %w", end, err)
		}
		end += 12 + total
	}
}

// unlessEnd is nil at the end of a file, also in the middle of a record.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
