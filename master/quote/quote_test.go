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
