package wandb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

func shapes(t testing.TB) []byte {
	t.Helper()
	file, err := os.ReadFile("testdata/run-shapes01.wandb")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// read reads a file into its rows, by their steps.
func read(t *testing.T, file []byte) (run Run, rows map[int64]Row, end int64, err error) {
	t.Helper()
	rows = map[int64]Row{}
	run, end, err = Read(bytes.NewReader(file), func(at int64, r Row) error {
		if at < headSize || at >= int64(len(file)) {
			t.Errorf("a row at byte %d of %d", at, len(file))
		}
		rows[r.Step] = r
		return nil
	})
	return run, rows, end, err
}

// TestARunOfWandB: a file that W&B's own client has written (testdata/make.py) is read whole.
func TestARunOfWandB(t *testing.T) {
	file := shapes(t)
	run, rows, end, err := read(t, file)
	if err != nil || end != int64(len(file)) {
		t.Fatalf("up to byte %d of %d: %v", end, len(file), err)
	}
	about := run
	about.Summary = nil
	code := int64(0)
	want := Run{ID: "shapes01", Entity: "vision", Project: "shapes", Group: "first", JobType: "train", Name: "small-net", Notes: "as in the paper", Host: "laptop", Tags: []string{"a", "b"},
		Config:   map[string]any{"lr": 0.01, "net": map[string]any{"width": 32.0, "act": "relu"}, "layers": []any{1.0, 2.0}, "seed": 7.0},
		ExitCode: &code}
	if !reflect.DeepEqual(about, want) {
		t.Errorf("the run is %+v", about)
	}
	if run.Summary["best"] != 0.5 || run.Summary["loss"] != 0.5 {
		t.Errorf("the summary is %v", run.Summary)
	}
	if n := len(rows); n != 43 || rows[0].Values["loss"] != 1 || rows[9].Values["loss"] != 0.1 || rows[9].Values["val/accuracy"] != 0.25 || len(rows[9].Values) != 2 || rows[9].Time.Year() < 2026 {
		t.Errorf("%d rows, %+v", n, rows[9])
	}
	odd := rows[50].Values
	if len(odd) != 6 || !math.IsNaN(odd["nan"]) || !math.IsInf(odd["inf"], 1) || odd["flag"] != 1 || odd["count"] != 3 || odd["nest.a"] != 1.5 || odd["nest.b.c"] != 2 {
		t.Errorf("the row with values of all kinds is %v", odd)
	}
	if len(rows[51].Values) != 0 || rows[52].Values["loss"] != 0.5 {
		t.Errorf("around the long record: %v, %v", rows[51], rows[52])
	}
}

// TestDamageOfARun: what stands before damage is read, and the error says where the damage is. A file that ends within a record is one that grows.
func TestDamageOfARun(t *testing.T) {
	file := shapes(t)
	for cut := headSize; cut < len(file); cut += 997 {
		if _, _, end, err := read(t, file[:cut]); err != nil || end > int64(cut) {
			t.Fatalf("of %d bytes: up to byte %d, %v", cut, end, err)
		}
	}
	for i := 0; i < len(file); i += 391 {
		broken := bytes.Clone(file)
		broken[i] ^= 0x10
		_, rows, _, err := read(t, broken)
		if err == nil || i >= headSize && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "at byte ")) || i < 4000 && len(rows) > 30 {
			t.Fatalf("byte %d changed: %d rows, %v", i, len(rows), err)
		}
	}
	for name, text := range map[string]string{"nothing": "", "another file": "PK\x03\x04 and so on", "a newer version": ":W&B\xe1\xbe\x01"} {
		if _, _, _, err := read(t, []byte(text)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// framed puts a record into a file of its own.
func framed(record []byte) []byte {
	out := append([]byte{}, fileHead...)
	for kind, first := byte(whole), true; ; first = false {
		room := blockSize - len(out)%blockSize - headSize
		if room < 0 {
			out = append(out, make([]byte, room+headSize)...)
			continue
		}
		part := record[:min(room, len(record))]
		record = record[len(part):]
		switch {
		case first && len(record) > 0:
			kind = 2
		case !first && len(record) > 0:
			kind = middle
		case !first:
			kind = last
		}
		sum := crc32.Update(crc32.ChecksumIEEE([]byte{kind}), crc32.IEEETable, part)
		out = binary.LittleEndian.AppendUint32(out, sum)
		out = binary.LittleEndian.AppendUint16(out, uint16(len(part)))
		out = append(append(out, kind), part...)
		if len(record) == 0 {
			return out
		}
	}
}

// TestValuesOfNewerClients: newer clients write numbers without JSON.
func TestValuesOfNewerClients(t *testing.T) {
	item := func(name string, value ...byte) []byte {
		b := append([]byte{0x12, byte(len(name))}, name...)
		b = append(b, value...)
		return append([]byte{0x0a, byte(len(b))}, b...)
	}
	row := append(item("truth", 0x20, 1), item("whole", 0x28, 5)...) // zigzag: -3
	row = append(row, item("number", 0x31, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f)...)
	row = append(row, 0x12, 2, 0x08, 9) // the step
	_, rows, _, err := read(t, framed(append([]byte{0x12, byte(len(row))}, row...)))
	if err != nil || !reflect.DeepEqual(rows[9].Values, map[string]float64{"truth": 1, "whole": -3, "number": 1.5}) {
		t.Errorf("%v, %v", rows, err)
	}
}

func FuzzRun(f *testing.F) {
	f.Add(shapes(f)[:4000], true)
	f.Add([]byte{0x12, 4, 0x0a, 2, 0x12, 0}, false)
	f.Add([]byte{0x8a, 1, 2, 0x0a, 0}, false)
	f.Fuzz(func(t *testing.T, file []byte, isFile bool) {
		if !isFile { // a message, without checksums in the way
			file = framed(file)
		}
		if _, _, end, err := read(t, file); end > int64(len(file)) {
			t.Errorf("%d bytes were read up to %d, %v", len(file), end, err)
		}
	})
}
