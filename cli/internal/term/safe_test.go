package term

import (
	"bytes"
	"fmt"
	"testing"
)

// TestATerminalIsToldTextAlone: a terminal gets only the text of another user's log line, no control sequences.
func TestATerminalIsToldTextAlone(t *testing.T) {
	for said, want := range map[string]string{
		"step 1 \x1b[32mloss\x1b[0m 0.5\n":                    "step 1 \x1b[32mloss\x1b[0m 0.5\n",
		"\x1b[1;38;5;208mbold\x1b[m \x1b[38:2::1:2:3mx":       "\x1b[1;38;5;208mbold\x1b[m \x1b[38:2::1:2:3mx",
		"\x1b]0;owned\x07title":                               "title",
		"\x1b]52;c;ZWNobyBvd25lZA==\x1b\\clipboard":           "clipboard",
		"\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b[2J\x1b[H\x1b[1Agone":                            "gone",
		"\x1b[6n\x1b[c\x1b[>c\x1b[?1049hanswers":              "answers",
		"\x1bPq#0~-\x1b\\sixel\x1b_Gf=24;\x1b\\kitty":         "sixelkitty",
		"\x1b(0lines\x1bc reset\x1b7\x1b8":                    "lines reset",
		"\x1b]0;never ended\nnext":                            "\nnext",
		"50%\r100%\ttab\n":                                    "50%\r100%\ttab\n",
		"be\x07ll \x08back \x0e\x0f\x00\x7f":                  "bell back ",
		"\xc2\x9b31m \x9d0;x naked":                           "31m 0;x naked",
		"é ü 漢字 🙂 \u00a0":                                     "é ü 漢字 🙂 \u00a0",
		"\x1b[31\x1b[32mtwo":                                  "\x1b[32mtwo",
		"\x1b[?1;2m \x1b[>4;2mnot paint":                      " not paint",
	} {
		var whole, pieces bytes.Buffer
		if n, err := NewSafe(&whole).Write([]byte(said)); n != len(said) || err != nil {
			t.Errorf("%q: %d %v", said, n, err)
		}
		s := NewSafe(&pieces)
		for _, c := range []byte(said) {
			if _, err := s.Write([]byte{c}); err != nil {
				t.Fatal(err)
			}
		}
		if whole.String() != want || pieces.String() != want {
			t.Errorf("%q gives %q, in pieces %q, want %q", said, &whole, &pieces, want)
		}
	}
}

// TestWhatIsPipedIsLeftAlone: a program that reads gets every byte.
func TestWhatIsPipedIsLeftAlone(t *testing.T) {
	io, out, _ := Buffers("")
	fmt.Fprint(io.Out, "\x1b]0;x\x07y")
	if out.String() != "\x1b]0;x\x07y" {
		t.Errorf("%q", out)
	}
}
