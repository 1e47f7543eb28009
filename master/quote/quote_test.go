package quote

import (
	"os/exec"
	"testing"
)

func TestShell(t *testing.T) {
	for _, word := range []string{"", "plain", "two words", "it's", `$HOME "x" \ ; #`, "two\nlines"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+Shell(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("a shell reads %q as %q (%v)", word, out, err)
		}
	}
}

func TestWord(t *testing.T) {
	for word, want := range map[string]string{"/opt/detent-1.0/x@y=z": "/opt/detent-1.0/x@y=z", "": "''", "/my files": "'/my files'", "a;b": "'a;b'", "~": "'~'", "é": "'é'"} {
		if got := Word(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

func TestCell(t *testing.T) {
	for text, want := range map[string]string{"": "", "-": "-", "a=b": "a=b", "-1.5": "-1.5", "-inf": "-inf", "é": "é", "=1+1": "'=1+1", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0",
		"@SUM(1)": "'@SUM(1)", "-x": "'-x", "\t=1": "'\t=1", "\r=1": "'\r=1"} {
		if got := Cell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
