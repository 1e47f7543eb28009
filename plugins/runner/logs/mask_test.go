package logs

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestMask(t *testing.T) {
	values := []string{"tiny", "hunter2-hunter2", "hunter2-hunter2-longer", "first line\r\nsecond line\n\nx", "aaaaaaaab"}
	for given, want := range map[string]string{
		"nothing":             "nothing",
		"tiny is too short":   "tiny is too short",
		"a hunter2-hunter2 b": "a ******** b",
		"hunter2-hunter2-longer, hunter2-hunter2": "********, ********",
		"hunter2-hunter2-long":                    "********-long",
		"hunter2-hunter":                          "hunter2-hunter",
		"first line\nsecond line\n":               "********\n********\n",
		"aaaaaaaaaab":                             "aa********",
		"hunter2-hunter2hunter2-hunter2":          "****************",
		"end hunter2":                             "end hunter2",
	} {
		for name, from := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
			"halves": iotest.HalfReader, "with its end": iotest.DataErrReader} {
			got, err := io.ReadAll(NewMask(values).Over(from(strings.NewReader(given))))
			if err != nil || string(got) != want {
				t.Errorf("%q, %s: %q, %v; want %q", given, name, got, err, want)
			}
		}
	}
	bundle := &strings.Builder{}
	for i := range 2 * maxMasked {
		fmt.Fprintf(bundle, "line %d of a certificate\n", i)
	}
	if got, err := io.ReadAll(NewMask([]string{bundle.String(), "token-0123456789"}).Over(strings.NewReader("token-0123456789"))); err != nil || string(got) != maskText {
		t.Errorf("a value after a long one: %q, %v", got, err)
	}
	if NewMask([]string{"short", ""}) != nil {
		t.Error("there is nothing to hide")
	}
	if r := strings.NewReader("x"); (*Mask)(nil).Over(r) != io.Reader(r) {
		t.Error("without values the output is read as it is")
	}
}

// TestMaskHoldsNothingBack: what cannot begin a value is passed on at once, so that prompts and
// progress bars appear.
func TestMaskHoldsNothingBack(t *testing.T) {
	r, w := io.Pipe()
	out := NewMask([]string{"hunter2-hunter2"}).Over(r)
	buf := make([]byte, 100)
	for _, step := range []struct {
		in   []string
		want string
	}{{[]string{"10% "}, "10% "}, {[]string{"20% hun"}, "20% "}, {[]string{"dred"}, "hundred"}, {[]string{"hunter2-", "hunter2"}, "********"}} {
		go func() {
			for _, piece := range step.in {
				_, _ = w.Write([]byte(piece))
			}
		}()
		n, err := out.Read(buf)
		if err != nil || string(buf[:n]) != step.want {
			t.Fatalf("after %q: %q, %v; want %q", step.in, buf[:n], err, step.want)
		}
	}
	_ = w.Close()
}
