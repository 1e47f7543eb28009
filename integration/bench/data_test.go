package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// BenchmarkDataLayer: determined.data against reading its source, and against
// PyTorch's own loader. The script measures; here its figures go into the table.
func BenchmarkDataLayer(b *testing.B) {
	const part = "The data store, 3,000 images of 12 kB"
	weed, found, err := servers.Find(b.Context(), "weed")
	if err != nil {
		b.Fatal(err)
	}
	python, err := pyenv.Named(b.Context(), "torch", servers.NewReporter(os.Stderr))
	if err != nil {
		b.Fatal(err)
	}
	args := []string{filepath.Join("tests", "bench_data_layer.py")}
	if found {
		args = append(args, "--weed", weed.Path)
	}
	cmd := exec.CommandContext(b.Context(), python, args...)
	cmd.Dir = filepath.Join("..", "..", "plugins", "harness")
	cmd.Env = append(os.Environ(), "PYTHONPATH=.", "OMP_NUM_THREADS=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	var last line
	for _, text := range bytes.Split(bytes.TrimSpace(out), []byte("\n")) {
		last = line{}
		if err := json.Unmarshal(text, &last); err != nil {
			b.Fatalf("%v: %s", err, text)
		}
		shared.figures.add(figure{part: part, what: last.What, value: last.Value, unit: last.Unit, against: last.Against, yardstick: last.Yard})
	}
	b.ReportMetric(last.Value, "ms/resume")
}

// A line is one figure that the script prints.
type line struct {
	What, Unit, Against string
	Value, Yard         float64
}
