package root

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestWordsOfWrongFlags: what a flag takes is said without the words of Go's packages.
func TestWordsOfWrongFlags(t *testing.T) {
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	flags.SetOutput(&bytes.Buffer{})
	flags.IntP("hard", "n", 0, "")
	flags.Float64("share", 0, "")
	flags.Bool("all", false, "")
	flags.Duration("since", 0, "")
	for line, want := range map[string]string{
		"--hard 0.01":                 `--hard: expected a whole number, found "0.01"`,
		"-n x":                        `--hard: expected a whole number, found "x"`,
		"--hard 99999999999999999999": `--hard: expected a number that is nearer to 0, found "99999999999999999999"`,
		"--share much":                `--share: expected a number, found "much"`,
		"--all=perhaps":               `--all: expected true or false, found "perhaps"`,
		"--since soon":                `invalid argument "soon" for "--since" flag: time: invalid duration "soon"`,
		"--other":                     `unknown flag: --other`,
	} {
		err := flags.Parse(strings.Fields(line))
		if err == nil {
			t.Errorf("%s: no error", line)
			continue
		}
		if got := flagError(err); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
