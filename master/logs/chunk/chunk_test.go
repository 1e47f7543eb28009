package chunk

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// lines returns numbered lines, a second apart.
func lines(n int) []Line {
	list := make([]Line, n)
	for i := range list {
		list[i] = Line{At: time.Date(2026, 5, 1, 12, 0, i, 0, time.UTC), Stdtype: "stdout", Source: "task", Rank: -1, Text: fmt.Sprintf("line %d", i)}
	}
	return list
}

func TestChunkCodec(t *testing.T) {
	codec := New()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		list := make([]Line, n)
		for i := range list {
			list[i] = Line{
				At:      time.UnixMicro(rapid.Int64Range(-1e15, 4e15).Draw(t, "at")).UTC(),
				Level:   rapid.IntRange(0, 6).Draw(t, "level"),
				Rank:    rapid.IntRange(-1, 1e6).Draw(t, "rank"),
				Stdtype: rapid.SampledFrom([]string{"stdout", "stderr", ""}).Draw(t, "std"),
				Source:  rapid.StringN(0, 5, 20).Draw(t, "source"),
				Text:    rapid.StringN(0, 100, 400).Draw(t, "text"),
			}
		}
		var back []Line
		for _, c := range codec.Pack(list) {
			got, err := codec.Lines(c.Body)
			if err != nil || len(got) != c.Lines {
				t.Fatalf("%d lines of %d: %v", len(got), c.Lines, err)
			}
			back = append(back, got...)
		}
		if !slices.Equal(list, back) {
			t.Fatalf("wrote %v\nread %v", list, back)
		}
	})
}

func TestDamagedChunk(t *testing.T) {
	codec := New()
	whole := codec.Pack(lines(5))[0].Body
	big := codec.Pack(lines(200))[0].Body
	for _, body := range [][]byte{whole, big} {
		for i := range body {
			if _, err := codec.Lines(body[:i]); err == nil {
				t.Fatalf("%d bytes of %d are read as a whole chunk", i, len(body))
			}
			for _, flip := range []byte{1, 0x80, 0xff} {
				bad := slices.Clone(body)
				bad[i] ^= flip
				_, _ = codec.Lines(bad) // must not panic; a flipped letter is another text
			}
		}
	}
}
