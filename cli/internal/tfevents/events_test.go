package tfevents

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// all is what a file has, in lines.
func all(t *testing.T, file []byte) (lines []string, end int64, err error) {
	t.Helper()
	at := int64(-1)
	end, err = Read(bytes.NewReader(file), Sink{
		Scalar: func(place int64, s Scalar) error {
			if place < at || place >= int64(len(file)) {
				t.Errorf("a value at byte %d after one at %d", place, at)
			}
			at = place
			lines = append(lines, fmt.Sprintf("%s %d %v %s", s.Tag, s.Step, s.Value, s.Time.Sub(time.Unix(1_700_000_000, 0))))
			return nil
		},
		Restarted: func(_, step int64) { lines = append(lines, fmt.Sprintf("restarted at %d", step)) },
		HParams: func(values map[string]any) {
			lines = append(lines, fmt.Sprint(maps.Clone(values)))
		},
	})
	return lines, end, err
}

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	file, err := os.ReadFile("testdata/events.out.tfevents." + name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestFilesOfTensorBoard: files that TensorBoard's own writer has made (testdata/make.py) are read whole, in the forms of PyTorch and of TensorFlow 2.
func TestFilesOfTensorBoard(t *testing.T) {
	lines, end, err := all(t, testFile(t, "old"))
	if err != nil || end != int64(len(testFile(t, "old"))) || len(lines) != 1+20+1+2 {
		t.Fatalf("%d lines up to byte %d, %v: %q", len(lines), end, err, lines)
	}
	for i, want := range map[int]string{0: "map[lr:0.25 nesterov:true optimizer:sgd]", 1: "train/loss 0 1 250ms", 4: fmt.Sprintf("eval/accuracy 1 %v 1.25s", float64(float32(0.1))),
		21: "restarted at 8", 22: "train/loss 8 0.75 21.25s", 23: "train/loss 9 NaN 22.25s"} {
		if lines[i] != want {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	lines, _, err = all(t, testFile(t, "new"))
	want := []string{"epoch_loss 0 2.5 250ms", "epoch 0 7 250ms", "epoch_loss 1 1.5 1.25s", "epoch 1 -8 1.25s", "epoch_loss 2 0.1 2.25s", "half 3 0.375 3.25s", "raw 4 4.5 4.25s", "brain 5 1 5.25s"}
	if err != nil || strings.Join(lines, ", ") != strings.Join(want, ", ") {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestDamage: what stands before damage is read, a file that ends within a record is one that grows, and the error says where the damage is.
func TestDamage(t *testing.T) {
	file := testFile(t, "old")
	whole, _, _ := all(t, file)
	ends := map[int64]bool{0: true}
	at := int64(0)
	for at < int64(len(file)) {
		at += 16 + int64(binary.LittleEndian.Uint64(file[at:]))
		ends[at] = true
	}
	for cut := range file {
		lines, end, err := all(t, file[:cut])
		if err != nil || !ends[end] || end > int64(cut) || len(lines) > len(whole) {
			t.Fatalf("of %d bytes: %d lines up to byte %d, %v", cut, len(lines), end, err)
		}
	}
	for i := range file {
		broken := bytes.Clone(file)
		broken[i] ^= 0x40
		lines, end, err := all(t, broken)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("at byte %d ", end)) || end > int64(i) {
			t.Fatalf("byte %d changed: %v, up to byte %d", i, err, end)
		}
		for j := range lines {
			if lines[j] != whole[j] {
				t.Fatalf("byte %d changed: line %d is %q, want %q", i, j, lines[j], whole[j])
			}
		}
	}
}

// record frames an event.
func record(event []byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(event)))
	out = binary.LittleEndian.AppendUint32(out, masked(out))
	out = append(out, event...)
	return binary.LittleEndian.AppendUint32(out, masked(event))
}

// TestLargeRecordsArePassedOver: a graph of many megabytes costs no memory, and what follows is read.
func TestLargeRecordsArePassedOver(t *testing.T) {
	small := testFile(t, "old")
	file := append(record(make([]byte, maxRecord+1)), small...)
	lines, end, err := all(t, file)
	if err != nil || len(lines) != 24 || end != int64(len(file)) {
		t.Errorf("%d lines up to byte %d of %d, %v", len(lines), end, len(file), err)
	}
}

// TestAMessageOfItsOwn: a record whose checksum is right and which is no event is an error with its place, and an event without a clock has no time.
func TestAMessageOfItsOwn(t *testing.T) {
	_, _, err := all(t, append(record(nil), record([]byte{0x2a, 0x7f})...))
	if err == nil || !strings.Contains(err.Error(), "the record at byte 16 is no message") {
		t.Errorf("%v", err)
	}
	for _, seconds := range []float64{0, -1, math.NaN(), math.Inf(1), 1e300} {
		if at := timeOf(seconds); !at.IsZero() {
			t.Errorf("%v seconds are %s", seconds, at)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"old", "new"} {
		f.Add(testFile(f, name), true)
		f.Add(testFile(f, name), false)
	}
	f.Add(record([]byte{0x2a, 0x04, 0x0a, 0x02, 0x42, 0x00}), true)
	f.Fuzz(func(t *testing.T, file []byte, framed bool) {
		if !framed { // the messages, without checksums in the way
			file = record(file)
		}
		_, end, err := all(t, file)
		if end > int64(len(file)) || err == nil && len(file)-int(end) > maxRecord+16 {
			t.Errorf("%d bytes were read up to %d, %v", len(file), end, err)
		}
	})
}
