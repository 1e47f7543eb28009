package cluster

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestListsOfLeftovers: the master reads a part of a folder that a program has filled, and keeps what a runner may have left.
func TestListsOfLeftovers(t *testing.T) {
	entry := func(name, mode string) string {
		return fmt.Sprintf(`{"Name":%q,"IsDir":false,"Size":3,"FileMode":%q,"ModTime":"2026-11-27T11:29:00Z","ContentType":""}`, name, mode)
	}
	list := func(n int, name string) string {
		names := make([]string, n)
		for i := range names {
			names[i] = entry(fmt.Sprintf(name, i), "-rw-r--r--")
		}
		return strings.Join(names, ",")
	}
	for _, c := range []struct {
		what, answer string
		files        int
		err          error
	}{
		{"nothing", "[]", 0, nil},
		{"no folder", "null", 0, nil},
		{"a runner's files", "[" + list(200, "%016d.log") + "," + entry("exit.json", "-rw-------") + "]", 201, nil},
		{"other names", "[" + list(900, "x%d.log") + "," + list(900, "%d.txt") + "," + entry("-1.log", "-rw-r--r--") + "," + entry("7.log", "drwxr-xr-x") + "]", 0, nil},
		{"many files of lines", "[" + list(1001, "%d.log") + "]", 0, ErrManyLeftovers},
		{"a long list", "[" + list(130_000, strings.Repeat("n", 240)+"%d") + "]", 0, ErrManyLeftovers},
		{"a long name", "[" + entry(strings.Repeat("n", 5<<20), "-rw-r--r--") + "]", 0, ErrManyLeftovers},
	} {
		body := strings.NewReader(c.answer)
		files, err := leftoversIn(body)
		if len(files) != c.files || !errors.Is(err, c.err) {
			t.Errorf("%s: %d files, %v", c.what, len(files), err)
		}
		if read := len(c.answer) - body.Len(); read > maxListing {
			t.Errorf("%s: %d bytes are read", c.what, read)
		}
	}
	if _, err := leftoversIn(strings.NewReader("[" + list(2, "%d.log"))); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an answer that was cut off: %v", err)
	}
	if files, _ := leftoversIn(strings.NewReader("[" + entry("0.log", "-rw-r--r--") + "]")); !slices.Equal(files, []LeftoverFile{{"0.log", 3}}) {
		t.Errorf("%v", files)
	}
}
