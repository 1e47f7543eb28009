package main

import (
	"strings"
	"testing"
)

const first = `
goos: linux

| The master | Detent   | target | yardstick, same run | ratio | Determined 0.38.1, earlier |
| ---------- | -------- | ------ | ------------------- | ----- | -------------------------- |
| ready      | 1,200 ms | 50 ms  | a connection: 600 ms | 2.00 × | 70 ms |
| memory     | 40.0 MB  |        |                     |       |  |
| gone       | 1 MB  |        |                     |       |  |
PASS
`

// TestRowsAreJoined: rows that both sides print are compared by their medians, and others are left out.
func TestRowsAreJoined(t *testing.T) {
	before := tableOf(first)
	if len(before) != 3 || before[0] != (figure{"The master", "ready", 1200, "ms", 2}) {
		t.Fatalf("%+v", before)
	}
	var now []table
	for _, memory := range []string{"90.0", "44.0", "30.0"} {
		now = append(now, tableOf(strings.NewReplacer("40.0", memory, "gone", "new").Replace(first)))
	}
	var b strings.Builder
	write(&b, "abc", []table{before, before, before}, now)
	want := `|                    | abc     | today   | today to abc | their ratios to the yardstick |
| ------------------ | ------- | ------- | ------------ | ----------------------------- |
| The master: ready  | 1200 ms | 1200 ms | 1.00 ×       | 2.00 and 2.00                 |
| The master: memory | 40.0 MB | 44.0 MB | 1.10 ×       |                               |
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
