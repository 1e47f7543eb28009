package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const spaceOf = `"epochs":2,"space":[{"name":"kind","type":"cat","values":["a","b"]},{"name":"lr","type":"float","lo":0.001,"hi":1,"log":true},` +
	`{"name":"n","type":"int","lo":1,"hi":9,"when":["kind",["b"]]}]`

func writeTable(t *testing.T, folder, name, head string, values ...uint16) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, head)
	if err := binary.Write(z, binary.LittleEndian, values); err != nil {
		t.Fatal(err)
	}
	z.Close()
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func recordedIn(t *testing.T, folder string) string {
	t.Helper()
	return writeTable(t, folder, "x.tbl.gz", `{"name":"x","n":3,"lo":0,"hi":1,"weights":[10,1,1],`+spaceOf+"}\n",
		0, 0, 65535, 0, 65535, 0, 1, 0, 0, // positions
		65535, 0, 65535, 32768, 65535, 65535) // curves
}

// TestTheNearestCurve tests that a search sees the curve of the nearest recorded position, without
// regard to hyperparameters that are not active.
func TestTheNearestCurve(t *testing.T) {
	table, err := openTable(recordedIn(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		hparams map[string]any
		end     float64
	}{
		"the first":              {map[string]any{"kind": "a", "lr": 0.002, "n": int64(1)}, 0},
		"the second":             {map[string]any{"kind": "a", "lr": 0.9, "n": int64(9)}, 32768.0 / 65535},
		"another kind":           {map[string]any{"kind": "b", "lr": 0.9, "n": int64(9)}, 1},
		"without what is inert":  {map[string]any{"kind": "a", "lr": 0.9}, 32768.0 / 65535},
		"beyond the lower bound": {map[string]any{"kind": "a", "lr": 1e-9, "n": int64(1)}, 0},
	} {
		if seen, _ := table.curve(table.position(test.hparams)); seen[1] != test.end {
			t.Errorf("%s: the curve ends at %g, want %g", name, seen[1], test.end)
		}
	}
	if table.best != 0 || math.Abs(table.median-0.5) > 0.01 {
		t.Errorf("best %g, median %g", table.best, table.median)
	}
}

// halves encodes numbers as a surrogate does: zeros, and the first ones as given.
func halves(n int, first ...uint16) string {
	b := make([]byte, 2*n)
	for i, v := range first {
		binary.LittleEndian.PutUint16(b[2*i:], v)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// surrogateIn writes a network of zeros, whose curves therefore have the scores of its last biases.
func surrogateIn(t *testing.T, folder string) {
	t.Helper()
	const one, minusOne = 0x3c00, 0xbc00
	head := `{"name":"x","lo":0,"hi":1,"c":0.02,"best":0.1,"median":0.5,"inputs":4,` + spaceOf
	for name, text := range map[string]string{"w0": halves(4 * width), "w1": halves(width * width), "w2": halves(width * components),
		"b0": halves(width), "b1": halves(width), "b2": halves(components, one), "mean": halves(2, minusOne), "basis": halves(2*components, 0, minusOne),
		"scores": halves(lenders * components), "noise": halves(2*lenders, one)} {
		head += fmt.Sprintf(",%q:%q", name, text)
	}
	writeTable(t, folder, "x.sur.gz", head+"}\n")
}

// TestASurrogate tests that a surrogate counts before the recorded curves, and what its curves are.
func TestASurrogate(t *testing.T) {
	folder := t.TempDir()
	recordedIn(t, folder)
	surrogateIn(t, folder)
	tables, err := openTables(folder)
	if err != nil || len(tables) != 1 || tables[0].best != 0.1 || tables[0].median != 0.5 {
		t.Fatalf("%+v %v", tables, err)
	}
	seen, clean := tables[0].curve([]float64{0, 0, 0})
	first, second := math.Exp(-1)-0.02, math.Exp(-1)-0.02 // mean -1 and 0; the first basis takes 1 from the second epoch
	if math.Abs(clean[0]-first) > 1e-6 || math.Abs(clean[1]-second) > 1e-6 {
		t.Errorf("without noise %v, want %g and %g", clean, first, second)
	}
	if math.Abs(seen[0]-(1-0.02)) > 1e-6 && math.Abs(seen[0]-first) > 1e-6 {
		t.Errorf("with noise %v", seen)
	}
}

// TestSearchesOnTablesOfAFolder runs every searcher in every setting.
func TestSearchesOnTablesOfAFolder(t *testing.T) {
	folder := t.TempDir()
	recordedIn(t, folder)
	var out bytes.Buffer
	if err := held(&out, heldOptions{tables: folder, seeds: 1}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"8 workers, batches", "1 worker, epochs", "all tables", "adaptive ASHA (default)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
	if err := held(&out, heldOptions{tables: t.TempDir(), seeds: 1}); err == nil || !strings.Contains(err.Error(), "no tables") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestTablesThatCannotBeRead(t *testing.T) {
	for name, head := range map[string]string{
		"not JSON":        "x\n",
		"no epochs":       `{"name":"x","n":1,"weights":[],"space":[]}` + "\n",
		"too few weights": `{"name":"x","n":1,"lo":0,"hi":1,"weights":[1],` + spaceOf + "}\n",
		"too short":       `{"name":"x","n":9,"lo":0,"hi":1,"weights":[1,1,1],` + spaceOf + "}\n",
		"an orphan":       `{"name":"x","n":1,"lo":0,"hi":1,"epochs":1,"weights":[1],"space":[{"name":"n","type":"int","lo":1,"hi":9,"when":["kind",["b"]]}]}` + "\n",
	} {
		if _, err := openTable(writeTable(t, t.TempDir(), "x.tbl.gz", head, 1, 2)); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
}
