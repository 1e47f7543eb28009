package importer

import (
	"strings"
	"testing"
	"time"
)

// TestProgress: a step says how far it is, what ends is at 100 %, and without a step nothing is said.
func TestProgress(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, true)
	p.add(6)
	p.close()
	if out.Len() > 0 {
		t.Errorf("without a step it says %q", &out)
	}
	p.begin("metrics", 1000)
	p.done = 250
	if got, want := p.text(10*time.Second), "metrics      250 of 1000 (25 %), 25/s, 30s left, 10s"; got != want {
		t.Errorf("%q in place of %q", got, want)
	}
	p.begin("logs", 4)
	p.parts = "lines"
	for range 4 {
		p.count(50)
		p.add(1)
	}
	if got, want := p.text(2*time.Second), "logs         4 of 4 (100 %), 200 lines, 100/s, 2s"; got != want {
		t.Errorf("%q in place of %q", got, want)
	}
	p.begin("rows", 0)
	if got, want := p.text(0), "rows         0, 0s"; got != want {
		t.Errorf("%q in place of %q", got, want)
	}
	p.close()
	p.next("trials", 3)
	if strings.Count(out.String(), "\n") != 1 {
		t.Errorf("a step that ended is said again: %q", &out)
	}
}
